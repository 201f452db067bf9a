"""From raw pairs to examples that rules can be learnt from, and back: values, and the categories of outputs."""
