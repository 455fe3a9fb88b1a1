"""Who a message without a mention is for, by its words alone, in every language that the bot speaks."""

from __future__ import annotations

import pytest

from core.text.intent import asks, kind_of

QUESTIONS = """\
How long is a key valid?
and what about part-timers?
Thanks, and when do they expire?
how far ahead do I have to request them
Does anyone know how many approvals are needed?
can you explain that in other words?
Who wrote the deployment guide?
Who changed the rota?
who wrote this guide?
How about part-timers?
Wie lange gilt ein Schlüssel?
wie lange vorher muss ich den Antrag stellen
Weiß jemand, wie viele Freigaben nötig sind?
kannst du mir das genauer erklären?
Was, wenn ich meins vergessen habe?
Wer hat den Leitfaden zum Deployment geschrieben?
Qui a écrit le guide de déploiement ?
¿Quién ha escrito la guía de despliegue?
Quem escreveu o guia?
手順書は誰が書きましたか？
Combien de temps une clé est-elle valable ?
Tu peux m'expliquer comment ça s'installe ?
Quelqu'un sait combien d'approbations il faut ?
¿Cuánto tiempo vale una clave?
¿Alguien sabe cuántas aprobaciones hacen falta?
con cuánta antelación tengo que pedirlas
Quanto tempo vale uma chave?
quantas aprovações são necessárias
você pode explicar isso?
鍵の有効期限はどのくらいですか？
申請はいつまでに必要ですか
その手順を教えてください"""

TALK = """\
How about pizza?
Wie gehts?
wer kommt?
元気?
みんなどう?
誰が来る?
いつ行く?
どこにいる?
I am going home
Was meint ihr?
¿Qué opináis?
O que acham?
どう思いますか?
Can you review my PR today?
shall we wait until Thursday?
should we merge it?
what do you think?
is anyone at the help desk?
could someone look at #482?
Tom, when is the release?
@bob how long is a key valid?
is it just me or is it slow?
👍
thanks a lot!
Good morning everyone
Kannst du heute noch meinen PR reviewen?
sollen wir bis Donnerstag warten?
Passt, gehen wir essen?
Tu peux relire ma PR aujourd'hui ?
on attend jeudi ?
merci beaucoup !
¿Puedes revisar mi PR hoy?
¿esperamos hasta el jueves?
me parece bien
Você pode revisar meu PR?
vamos almoçar?
obrigado!
レビューしてもらえますか？
ランチに行きましょうか？
ありがとうございます"""

DOUBTFUL = """\
lgtm, lunch?
ok will do that tomorrow
I think we just merge it
who broke staging?
who wrote this?
who changed it to red?
who merged?
wer hat das geschrieben?
qui a écrit ça ?
¿quién ha escrito esto?
¿quién escribió esto?
quem escreveu isso?
これ誰が書いたの?
Pizza?
Marta is away that week too, right?
Marta ist da auch weg, oder?
Marta est absente aussi, non ?
Marta tampoco está, ¿no?
why is the build so slow
the pipeline is red again
ok mach ich, dann bis morgen
ich glaube, das passt so
je passe au support
luego lo miro
depois eu vejo isso
今日はもう終わりですか？
Who would want to be on call at Christmas anyway?
Wer will schon an Weihnachten arbeiten?"""


@pytest.mark.parametrize("text", QUESTIONS.splitlines())
def test_a_question_may_be_for_the_bot(text):
    assert kind_of(text) == "question"
    assert asks(text)


@pytest.mark.parametrize("text", TALK.splitlines())
def test_what_is_said_to_people_never_is(text):
    assert kind_of(text) == "talk"


@pytest.mark.parametrize("text", DOUBTFUL.splitlines())
def test_statements_and_what_happens_now_seldom_are(text):
    assert kind_of(text) == "doubtful"


def test_code_and_addresses_neither_ask_nor_mention():
    assert kind_of("see https://example.org/a?b=@c for `who@x`") == "doubtful"
    assert kind_of("How do I install it from https://example.org/@scope/x?") == "question"
