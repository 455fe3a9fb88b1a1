"""An MCP server: assistants ask Footnote, and get answers with footnotes."""
