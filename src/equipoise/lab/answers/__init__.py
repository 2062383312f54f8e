"""From chosen documents to answers, and from answers to how they stand."""
