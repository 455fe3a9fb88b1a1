"""The checkup of an installation: what works, what does not, and what to do about it. It changes nothing."""
