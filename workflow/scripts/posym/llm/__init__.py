"""The two games on pretrained language models: prompts, replies, next-token choice, block swaps."""
