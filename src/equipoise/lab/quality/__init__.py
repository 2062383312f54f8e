"""Whether the defence harms answers where nobody attacks: clean answers without and with it."""
