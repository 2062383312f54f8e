"""Training of the bundled stance detector: data, folds, encoder, fit, export, card."""
