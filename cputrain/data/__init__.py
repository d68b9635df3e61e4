"""What is trained on: the corpus, its tokens, and batches of them."""
