"""The model against naive.py, which has a loop for every index: loss, logits, and the gradient of every weight."""

import pytest
import torch

SEQUENCES = {
    "aste": ([0], [[5, 6, 8, 8, 2, 9, 9, 5, 5, 4, 1], [1], [10, 10, 7, 9, 3, 1]]),
    "ate": ([0], [[2, 3, 5, 5, 1], [2, 4, 1], [7, 7, 1]]),
    "aoe": ([[0, 3, 4], [0, 2, 2], [0, 6, 7]], [[2, 3, 5, 5, 1], [2, 4, 1], [1]]),
    "several": ([[0, 2], [0, 3], [0, 2]], [[7, 8, 10, 10, 5, 1], [7, 8, 1], [7, 12, 4, 1]]),
}
# One for each index of a tuple: of targets 0 and 1, of opinions 2 and 3, of labels 4.
SLOTS = {"aste": [0, 1, 2, 3, 4], "ate": [0, 1], "aoe": [2, 3], "aesc": [0, 1, 4], "ote": [2, 3]}
CASES = {
    "bert": ("bert", "aste", {}),
    "bert-tokens-no_slots": ("bert", "aste", {"decoder_input": "tokens", "slot_embeddings": False}),
    "bert-first-alpha": ("bert", "ate", {"pointer_pooling": "first", "alpha": 0.8}),
    "bert-given": ("bert", "aoe", {"pointer_mlp": False}),
    "bert-several": ("bert", "several", {}),
    "bart": ("bart", "aste", {}),
    "bart-mean": ("bart", "several", {"pointer_pooling": "mean"}),
    "t5": ("t5", "aoe", {"alpha": 1.0}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_model_is_what_the_loops_say(make_model, make_batch, naive, name):
    backbone, task, changes = CASES[name]
    model = make_model(backbone, tasks=["aesc", "ote"] if task == "several" else [task], **changes).double()
    batch = make_batch()
    # T5's attention is normalised in float32, in older releases of Transformers also where the model is in float64.
    rtol, atol = (1e-5, 1e-6) if backbone == "t5" else (1e-7, 1e-10)
    prompts, targets = SEQUENCES[task]
    prompts = prompts if isinstance(prompts[0], list) else [prompts] * 3
    width = max(map(len, targets))
    labels = torch.tensor([target + [-100] * (width - len(target)) for target in targets])
    outputs = model(**batch, labels=labels, decoder_prompt_ids=torch.tensor(prompts))
    outputs.loss.backward()
    gradients = {key: parameter.grad for key, parameter in model.named_parameters()}
    model.zero_grad()

    total = count = 0
    for row, (prompt, target) in enumerate(zip(prompts, targets, strict=True)):
        length = int(batch["attention_mask"][row].sum())
        slots = SLOTS.get(task) or {2: SLOTS["aesc"], 3: SLOTS["ote"]}[prompt[1]]
        found = naive.scores(
            model,
            batch["input_ids"][row, :length].tolist(),
            batch["word_ids"][row, :length].tolist(),
            prompt + target,
            len(prompt),
            slots,
        )
        for step, by_index in enumerate(found):
            logits = outputs.logits[row, step]
            expected = torch.full_like(logits, torch.finfo(logits.dtype).min)
            for index, score in by_index.items():
                expected[index] = score
            torch.testing.assert_close(logits, expected, rtol=rtol / 100, atol=10 * atol)
        total, count = total + naive.loss_of(found, target), count + len(target)
    (total / count).backward()
    torch.testing.assert_close(outputs.loss, total / count, rtol=rtol, atol=atol)
    for key, parameter in model.named_parameters():
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        found = torch.zeros_like(parameter) if gradients[key] is None else gradients[key]
        torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, msg=lambda m, key=key: f"{key}: {m}")
    learned = [key for key, gradient in gradients.items() if gradient is not None and gradient.abs().max() > 0]
    assert len(learned) > 0.9 * len(gradients)
