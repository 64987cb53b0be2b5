"""Models of Headroom in PyTorch.

Headroom writes this file beside the weights of a model whose attention `transformers` does not know, so that

    from transformers import AutoModelForCausalLM   # or AutoModelForMaskedLM, AutoModelForSequenceClassification, ...
    model = AutoModelForCausalLM.from_pretrained(DIRECTORY, trust_remote_code=True)

opens it. It needs `torch` and `transformers` and nothing else. What a layer computes follows from `config.json`, whose key
`headroom_attention` answers three questions:

    reuse           which heads compute their own attention map: a table, a row for each layer; `c` computes, `1.3` uses the map
                    of layer 1 head 3, `-` is not there (counted from 0)
    compatibility   how a head scores a pair of positions
    coverage        how many pairs are scored; the other scores of a query are a linear map of these

The names of tensors in the file are those of BERT, GPT-2, BART or ViT wherever these have one; `NAMES` has them beside the names that
are used here, which are the same for every family: `encoder.0.self.query.weight`. Nothing is kept from one generated token to the
next, so that generating costs more than it must.
"""

import math
from functools import partial

import torch
from torch import nn
from torch.nn import functional
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import (
    BaseModelOutputWithPooling,
    CausalLMOutput,
    ImageClassifierOutput,
    MaskedLMOutput,
    QuestionAnsweringModelOutput,
    Seq2SeqLMOutput,
    SequenceClassifierOutput,
)

# What stands between the two maps of a feed-forward block, by its words in configurations.
ACTIVATIONS = {
    "gelu": functional.gelu,
    "gelu_new": partial(functional.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(functional.gelu, approximate="tanh"),
    "gelu_fast": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
    "silu": functional.silu,
    "swish": functional.silu,
    "tanh": torch.tanh,
}

# Our name of a module, and what files call it. The first that fits counts; {} is the number of a layer.
BERT = [
    ("input.tokens", "bert.embeddings.word_embeddings"),
    ("input.types", "bert.embeddings.token_type_embeddings"),
    ("encoder.positions", "bert.embeddings.position_embeddings"),
    ("encoder.{}.self.output", "bert.encoder.layer.{}.attention.output.dense"),
    ("encoder.{}.self", "bert.encoder.layer.{}.attention.self"),
    ("encoder.{}.feed_forward.in", "bert.encoder.layer.{}.intermediate.dense"),
    ("encoder.{}.feed_forward.out", "bert.encoder.layer.{}.output.dense"),
    ("encoder.coverage", "bert.encoder.coverage"),
    ("encoder.restore", "bert.encoder.restore"),
    ("head.dense", "cls.predictions.transform.dense"),
    ("head.norm", "cls.predictions.transform.LayerNorm"),
    ("head.bias", "cls.predictions.bias"),
    ("head.pooler", "bert.pooler.dense"),
    ("head.classes", "classifier"),
    ("head.span", "qa_outputs"),
]
BERT_NORMS_LAST = [
    ("encoder.embedding_norm", "bert.embeddings.LayerNorm"),
    ("encoder.{}.self.norm", "bert.encoder.layer.{}.attention.output.LayerNorm"),
    ("encoder.{}.feed_forward.norm", "bert.encoder.layer.{}.output.LayerNorm"),
]
BERT_NORMS_FIRST = [
    ("encoder.{}.self.norm", "bert.encoder.layer.{}.attention.ln"),
    ("encoder.{}.feed_forward.norm", "bert.encoder.layer.{}.ln"),
    ("encoder.final_norm", "bert.encoder.ln"),
]
GPT2 = [
    ("input.tokens", "transformer.wte"),
    ("decoder.positions", "transformer.wpe"),
    ("decoder.embedding_norm", "transformer.ln_e"),
    ("decoder.final_norm", "transformer.ln_f"),
    ("decoder.{}.self.norm", "transformer.h.{}.ln_1"),
    ("decoder.{}.self.output", "transformer.h.{}.attn.c_proj"),
    ("decoder.{}.self.query_key_value", "transformer.h.{}.attn.c_attn"),
    ("decoder.{}.self", "transformer.h.{}.attn"),
    ("decoder.{}.feed_forward.norm", "transformer.h.{}.ln_2"),
    ("decoder.{}.feed_forward.in", "transformer.h.{}.mlp.c_fc"),
    ("decoder.{}.feed_forward.out", "transformer.h.{}.mlp.c_proj"),
    ("decoder.coverage", "transformer.coverage"),
    ("decoder.restore", "transformer.restore"),
]
BART = [
    ("input.tokens", "model.shared"),
    ("head.bias", "final_logits_bias"),
    *[
        (ours.replace("STACK", stack), theirs.replace("STACK", stack))
        for stack in ["encoder", "decoder"]
        for ours, theirs in [
            ("STACK.positions", "model.STACK.embed_positions"),
            ("STACK.embedding_norm", "model.STACK.layernorm_embedding"),
            ("STACK.{}.self.norm", "model.STACK.layers.{}.self_attn_layer_norm"),
            ("STACK.{}.self.query", "model.STACK.layers.{}.self_attn.q_proj"),
            ("STACK.{}.self.key", "model.STACK.layers.{}.self_attn.k_proj"),
            ("STACK.{}.self.value", "model.STACK.layers.{}.self_attn.v_proj"),
            ("STACK.{}.self.output", "model.STACK.layers.{}.self_attn.out_proj"),
            ("STACK.{}.cross.norm", "model.STACK.layers.{}.encoder_attn_layer_norm"),
            ("STACK.{}.cross.query", "model.STACK.layers.{}.encoder_attn.q_proj"),
            ("STACK.{}.cross.key", "model.STACK.layers.{}.encoder_attn.k_proj"),
            ("STACK.{}.cross.value", "model.STACK.layers.{}.encoder_attn.v_proj"),
            ("STACK.{}.cross.output", "model.STACK.layers.{}.encoder_attn.out_proj"),
            ("STACK.{}.feed_forward.norm", "model.STACK.layers.{}.final_layer_norm"),
            ("STACK.{}.feed_forward.in", "model.STACK.layers.{}.fc1"),
            ("STACK.{}.feed_forward.out", "model.STACK.layers.{}.fc2"),
        ]
    ],
]
VIT = [
    ("input.patches", "vit.embeddings.patch_embeddings.projection"),
    ("input.class_token", "vit.embeddings.cls_token"),
    ("encoder.positions.weight", "vit.embeddings.position_embeddings"),
    ("encoder.{}.self.norm", "vit.encoder.layer.{}.layernorm_before"),
    ("encoder.{}.self.output", "vit.encoder.layer.{}.attention.output.dense"),
    ("encoder.{}.self", "vit.encoder.layer.{}.attention.attention"),
    ("encoder.{}.feed_forward.norm", "vit.encoder.layer.{}.layernorm_after"),
    ("encoder.{}.feed_forward.in", "vit.encoder.layer.{}.intermediate.dense"),
    ("encoder.{}.feed_forward.out", "vit.encoder.layer.{}.output.dense"),
    ("encoder.final_norm", "vit.layernorm"),
    ("encoder.embedding_norm", "vit.embeddings.LayerNorm"),
    ("encoder.coverage", "vit.encoder.coverage"),
    ("encoder.restore", "vit.encoder.restore"),
    ("head.classes", "classifier"),
]


def file_name(table, name):
    """What files call the tensor `name`; the name itself where the family has no word for it."""
    parts = name.split(".")
    for ours, theirs in table:
        pattern = ours.split(".")
        if len(parts) < len(pattern):
            continue
        number = None
        for part, expected in zip(parts, pattern):
            if expected == "{}" and part.isdigit():
                number = part
            elif part != expected:
                break
        else:
            theirs = theirs if number is None else theirs.replace("{}", number)
            return ".".join([theirs, *parts[len(pattern):]])
    return name


class HeadroomConfig(PretrainedConfig):
    """The keys of config.json as they are."""

    model_type = "headroom"

    def __init__(self, **keys):
        super().__init__(**keys)

    def first(self, *keys, default=None):
        """The first of these keys that is there."""
        for key in keys:
            value = getattr(self, key, None)
            if value is not None:
                return value
        return default


class Heads:
    """The heads of one layer: which compute, which borrow the map of another layer's head, which are not there."""

    def __init__(self, table, layer):
        row = table[layer]
        self.all = len(row)
        self.attending = [head for head, cell in enumerate(row) if cell != "-"]
        self.computing = [head for head, cell in enumerate(row) if cell == "c"]
        self.sources = [self.origin(table, layer, head) for head in self.attending]

    @staticmethod
    def origin(table, layer, head):
        """Where a map was computed: over as many lenders as there are."""
        while table[layer][head] != "c":
            layer, head = (int(number) for number in table[layer][head].split("."))
        return layer, head


def groups(heads, chosen, count):
    """The groups of `count` that some heads belong to: how many have a head, and the number of each head's among these."""
    of_heads = [head * count // heads.all for head in chosen]
    known = sorted(set(of_heads))
    return len(known), [known.index(group) for group in of_heads]


class Attention:
    """One attention of a layer: its tensors, and what it computes. Holds no tensors itself."""

    def __init__(self, stack, name, heads, compatibility):
        self.stack, self.name, self.heads = stack, name, heads
        self.kind = compatibility["kind"]
        self.compatibility = compatibility
        self.size = stack.width // heads.all

    def shapes(self):
        """Name, inputs, outputs and whether there is a bias of each map, then name and shape of each other tensor."""
        d, size, heads = self.stack.width, self.size, self.heads
        c, h = len(heads.computing), len(heads.attending)
        kind, biases = self.kind, self.compatibility.get("biases", "all")
        maps, others = [], []
        has_output_bias = not (kind == "standard" and biases == "none")
        if self.is_joined():
            maps.append(("query_key_value", d, 3 * d, True))
        elif kind == "standard":
            maps += [("query", d, c * size, biases != "none"), ("key", d, c * size, biases == "all")]
            maps.append(("value", d, h * size, biases != "none"))
        elif kind == "symmetric":
            maps += [("query", d, c * size, True), ("value", d, h * size, True)]
        elif kind == "pairwise":
            maps += [("query", d, c * size, True), ("value", d, h * size, True)]
            others.append(("pairwise.weight", (c, size, size)))
        elif kind == "shared_weight":
            maps.append(("shared", d, h * size, True))
            others += [("query_diagonal.weight", (c * size,)), ("key_diagonal.weight", (c * size,))]
            others.append(("value_diagonal.weight", (h * size,)))
        elif kind == "collaborative":
            shared = self.compatibility["d_k"] if c else 0
            maps += [("query", d, shared, False), ("key", d, shared, False), ("content", d, c, False)]
            maps.append(("value", d, h * size, True))
            others.append(("mixing.weight", (c, shared)))
        elif kind == "grouped":
            of_keys, _ = groups(heads, heads.computing, self.compatibility["kv_heads"])
            of_values, _ = groups(heads, heads.attending, self.compatibility["kv_heads"])
            maps += [("query", d, c * size, True), ("key", d, of_keys * size, True)]
            maps.append(("value", d, of_values * size, True))
        elif kind == "latent":
            rank = self.compatibility["rank"]
            maps += [("query", d, c * size, True), ("latent", d, rank, False), ("key", rank, c * size, False)]
            maps.append(("value", rank, h * size, True))
        elif kind == "tied_kv":
            count, _ = groups(heads, heads.attending, self.compatibility.get("kv_heads") or heads.all)
            maps += [("query", d, c * size, True), ("key_value", d, count * size, True)]
        else:
            raise ValueError(f'modeling_headroom.py does not know compatibility "{kind}"; take it from a newer Headroom')
        maps = [entry for entry in maps if entry[2] > 0]
        others = [entry for entry in others if 0 not in entry[1]]
        return [*maps, ("output", h * size, d, has_output_bias)], others

    def is_joined(self):
        """Whether queries, keys and values are one tensor, as in GPT-2."""
        is_plain = self.kind == "standard" and self.compatibility.get("biases", "all") == "all"
        return self.stack.joins and is_plain and len(self.heads.computing) == self.heads.all

    def map(self, name, x):
        return self.stack.model.map(f"{self.name}.{name}", x)

    def blocks(self, x):
        """Columns cut into heads: [b, n, h d] to [b, h, n, d]."""
        return x.unflatten(-1, (-1, self.size)).transpose(1, 2)

    def project(self, x, y):
        """Queries of `x`, keys of `y` and what is added to the scores of each key, all of the heads that compute, and the
        values of `y` of those that attend. [b, c, n, _], [b, c, m, _], [b, c, 1, m] or 0, [b, h, m, size]"""
        model, heads, kind = self.stack.model, self.heads, self.kind
        c = len(heads.computing)
        places = [heads.attending.index(head) for head in heads.computing]

        def tensor(name):
            return model.tensor(f"{self.name}.{name}.weight")

        if self.is_joined():
            q = self.map("query_key_value", x).chunk(3, dim=-1)[0]
            _, k, v = self.map("query_key_value", y).chunk(3, dim=-1)
            return self.blocks(q), self.blocks(k), 0, self.blocks(v)
        if kind == "shared_weight":
            of_x, of_y = self.blocks(self.map("shared", x)), self.blocks(self.map("shared", y))

            def scaled(blocks, name):
                return blocks * tensor(name).view(-1, 1, self.size)

            v = scaled(of_y, "value_diagonal")
            if c == 0:
                return None, None, 0, v
            return scaled(of_x[:, places], "query_diagonal"), scaled(of_y[:, places], "key_diagonal"), 0, v
        if kind == "tied_kv":
            both = self.blocks(self.map("key_value", y))
            _, numbers = groups(heads, heads.attending, self.compatibility.get("kv_heads") or heads.all)
            v = both[:, numbers]
            return (self.blocks(self.map("query", x)), v[:, places], 0, v) if c else (None, None, 0, v)
        source = self.map("latent", y) if kind == "latent" else y
        v = self.blocks(self.map("value", source))
        if kind == "grouped":
            v = v[:, groups(heads, heads.attending, self.compatibility["kv_heads"])[1]]
        if c == 0:
            return None, None, 0, v
        if kind == "collaborative":
            q = self.map("query", x).unsqueeze(1) * tensor("mixing").unsqueeze(1)
            k = self.map("key", y).unsqueeze(1)
            content = self.map("content", y).transpose(1, 2).unsqueeze(2)
            return q, k, content, v
        q = self.blocks(self.map("query", x))
        if kind == "symmetric":
            k = self.blocks(self.map("query", y))
        elif kind == "pairwise":
            k = self.blocks(self.map("query", y))
            q = q @ tensor("pairwise")
        elif kind == "grouped":
            k = self.blocks(self.map("key", y))[:, groups(heads, heads.computing, self.compatibility["kv_heads"])[1]]
        else:
            k = self.blocks(self.map("key", source))
        return q, k, 0, v

    def __call__(self, x, y, visible, lenders, layer):
        """What is added to the stream, and the maps of all heads, zero where a head is not there. `visible` is true where a
        query sees a key; `lenders` are the maps that were computed so far, by layer and head."""
        q, k, content, v = self.project(x, y)
        if q is not None:
            scores = q @ k.transpose(-1, -2) + content
            scores = self.stack.restored(scores, layer) if self.name.endswith("self") else scores
            scores = (scores / math.sqrt(self.size)).masked_fill(~visible, -torch.inf)
            # A query that sees nothing attends to nothing.
            own = torch.nan_to_num(torch.softmax(scores, dim=-1))
            for number, head in enumerate(self.heads.computing):
                lenders[layer, head] = own[:, number]
        maps = torch.stack([lenders[source] for source in self.heads.sources], dim=1)
        dropped = functional.dropout(maps, self.stack.dropout, self.stack.model.training)
        mixed = (dropped @ v).transpose(1, 2).flatten(2)
        whole = maps.new_zeros(maps.shape[0], self.heads.all, *maps.shape[2:])
        whole[:, self.heads.attending] = maps
        return self.map("output", mixed), whole


class Stack:
    """The layers of an encoder or of a decoder."""

    def __init__(self, model, name, sizes, attention, cross=None):
        self.model, self.name, self.is_causal = model, name, name == "decoder"
        self.layers, self.heads, self.width, self.inner = sizes["layers"], sizes["heads"], sizes["width"], sizes["inner"]
        self.positions, self.first_position = sizes["positions"], sizes["first_position"]
        self.dropout, self.epsilon = sizes["dropout"], sizes["epsilon"]
        self.norms_first, self.joins, self.activation = sizes["norms_first"], sizes["joins"], sizes["activation"]
        self.coverage, self.tokens = attention.get("coverage"), attention.get("tokens") or self.positions
        self.own = [self.attention(layer, "self", attention) for layer in range(self.layers)]
        self.cross = [self.attention(layer, "cross", cross) for layer in range(self.layers)] if cross else None

    def attention(self, layer, word, answers):
        """An attention of a layer; none where no head is there."""
        reuse = (answers.get("reuse") or {}).get("rows")
        table = [row.split() for row in reuse] if reuse else [["c"] * self.heads] * self.layers
        heads = Heads(table, layer)
        compatibility = answers.get("compatibility") or {"kind": "standard"}
        return Attention(self, f"{self.name}.{layer}.{word}", heads, compatibility) if heads.attending else None

    def leaves_out(self, layer):
        """Whether a layer leaves pairs out: all but the last that score any."""
        own = self.own[layer]
        return self.coverage is not None and layer + 1 < self.layers and own is not None and bool(own.heads.computing)

    def tensors(self):
        """What the stack is made of: `put` is called for each map, norm and tensor."""
        model = self.model
        model.put(f"{self.name}.positions.weight", (self.first_position + self.positions, self.width))
        model.put_norm(f"{self.name}.{'final_norm' if self.norms_first else 'embedding_norm'}", self.width)
        if self.coverage is not None:
            n, k = self.tokens, self.coverage["k"]
            left = n - k
            restored = left * (left + 1) // 2 if self.is_causal else n * left
            model.put(f"{self.name}.coverage.pairs", (n, k), of=torch.uint32)
            if self.coverage["restore"] != "per_layer":
                model.put(f"{self.name}.restore.weight", (restored, k))
        for layer in range(self.layers):
            for attention in [self.own[layer], self.cross and self.cross[layer]]:
                if attention is None:
                    continue
                maps, others = attention.shapes()
                for name, inputs, outputs, bias in maps:
                    model.put_map(f"{attention.name}.{name}", inputs, outputs, bias)
                for name, shape in others:
                    model.put(f"{attention.name}.{name}", shape)
                model.put_norm(f"{attention.name}.norm", self.width)
            if self.leaves_out(layer) and self.coverage["restore"] == "per_layer":
                model.put(f"{self.name}.{layer}.self.restore.weight", (restored, k))
            model.put_map(f"{self.name}.{layer}.feed_forward.in", self.width, self.inner, True)
            model.put_map(f"{self.name}.{layer}.feed_forward.out", self.inner, self.width, True)
            model.put_norm(f"{self.name}.{layer}.feed_forward.norm", self.width)

    def restored(self, scores, layer):
        """Scores of which only some pairs count; the others follow from these."""
        if not self.leaves_out(layer):
            return scores
        per_layer = self.coverage["restore"] == "per_layer"
        r = self.model.tensor(f"{self.name}.{layer}.self.restore.weight" if per_layer else f"{self.name}.restore.weight")
        pairs = self.model.tensor(f"{self.name}.coverage.pairs").to(torch.int64).tolist()
        t, whole, first = scores.shape[-1], scores.clone(), 0
        for query in range(t):
            seen = query + 1 if self.is_causal else t
            chosen = [key for key in pairs[query] if key < seen]
            others = [key for key in range(seen) if key not in set(chosen)]
            if others:
                rows = r[first : first + len(others)]
                whole[:, :, query, others] = scores[:, :, query, chosen] @ rows.transpose(0, 1)
                first += len(others)
        return whole

    def norm(self, name, x):
        return self.model.norm(f"{self.name}.{name}", x, self.epsilon)

    def drop(self, x):
        return functional.dropout(x, self.dropout, self.model.training)

    def add(self, x, name, f):
        """Adds to the stream: with the norm first, x + f(norm(x)); with the norm last, norm(x + f(x))."""
        if self.norms_first:
            return x + self.drop(f(self.norm(name, x)))
        return self.norm(name, x + self.drop(f(x)))

    def begin(self, x):
        """What the layers begin with, of the embeddings without positions."""
        first = self.first_position
        x = x + self.model.tensor(f"{self.name}.positions.weight")[first : first + x.shape[1]]
        return self.drop(x if self.norms_first else self.norm("embedding_norm", x))

    def __call__(self, x, mask, states=None, states_mask=None):
        """The stream after the last layer, the stream before and after each, and the maps of each attention.
        `mask` [b, t] is true where a key is there."""
        t = x.shape[1]
        visible = mask[:, None, None, :]
        if self.is_causal:
            visible = visible & torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
        lenders, cross_lenders, maps, cross_maps, hidden = {}, {}, [], [], [x]
        for layer in range(self.layers):
            for attention, of, y, seen, found in [
                (self.own[layer], lenders, None, visible, maps),
                (self.cross and self.cross[layer], cross_lenders, states, states_mask, cross_maps),
            ]:
                if attention is None:
                    continue

                def attend(x, attention=attention, of=of, y=y, seen=seen, found=found):
                    added, own = attention(x, x if y is None else y, seen, of, layer)
                    found.append(own)
                    return added

                x = self.add(x, attention.name.removeprefix(f"{self.name}.") + ".norm", attend)

            def feed_forward(x, name=f"{self.name}.{layer}.feed_forward"):
                inner = self.activation(self.model.map(f"{name}.in", x))
                return self.model.map(f"{name}.out", inner)

            x = self.add(x, f"{layer}.feed_forward.norm", feed_forward)
            if layer + 1 == self.layers and self.norms_first:
                x = self.norm("final_norm", x)
            hidden.append(x)
        return x, tuple(hidden), tuple(maps), tuple(cross_maps)


class HeadroomModel(PreTrainedModel):
    """What all models have in common. Tensors stand under their names in files; `tensor` finds them by ours."""

    config_class = HeadroomConfig
    main_input_name = "input_ids"
    names = BERT
    inputs_first = False

    def __init__(self, config):
        super().__init__(config)
        own = getattr(config, "headroom_attention", None) or {}
        # What is not said is a decoder of standard attention with norms last.
        self.norms_first = own.get("norm", "post") == "pre"
        self.table = self.name_table()
        self.build(config, own)
        self.post_init()

    def name_table(self):
        return self.names

    def _init_weights(self, module):
        for name, parameter in module.named_parameters(recurse=False):
            if not parameter.is_floating_point():
                continue
            if name == "bias":
                nn.init.zeros_(parameter)
            elif parameter.dim() == 1:
                nn.init.ones_(parameter)
            else:
                nn.init.normal_(parameter, std=0.02)

    def put(self, name, shape, of=None):
        """Makes a place for a tensor; `of` its type, where it is none that is trained."""
        *modules, last = file_name(self.table, name).split(".")
        at = self
        for module in modules:
            if module not in at._modules:
                at.add_module(module, nn.Module())
            at = at._modules[module]
        if of is None:
            at.register_parameter(last, nn.Parameter(torch.empty(shape)))
        else:
            at.register_buffer(last, torch.zeros(shape, dtype=of))

    def put_map(self, name, inputs, outputs, bias):
        self.put(f"{name}.weight", (inputs, outputs) if self.inputs_first else (outputs, inputs))
        if bias:
            self.put(f"{name}.bias", (outputs,))

    def put_norm(self, name, width):
        self.put(f"{name}.weight", (width,))
        self.put(f"{name}.bias", (width,))

    def tensor(self, name):
        *modules, last = file_name(self.table, name).split(".")
        at = self
        for module in modules:
            at = at._modules[module]
        found = at._parameters.get(last)
        return at._buffers[last] if found is None else found

    def has(self, name):
        *modules, last = file_name(self.table, name).split(".")
        at = self
        for module in modules:
            at = at._modules.get(module)
            if at is None:
                return False
        return last in at._parameters

    def map(self, name, x):
        weight = self.tensor(f"{name}.weight")
        bias = self.tensor(f"{name}.bias") if self.has(f"{name}.bias") else None
        return functional.linear(x, weight.transpose(0, 1) if self.inputs_first else weight, bias)

    def norm(self, name, x, epsilon):
        return functional.layer_norm(x, x.shape[-1:], self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"), epsilon)

    def words(self, ids):
        return functional.embedding(ids, self.tensor("input.tokens.weight"))

    def predicted(self, x):
        """Logits over the vocabulary: the word table is the matrix of the head too."""
        return functional.linear(x, self.tensor("input.tokens.weight"))

    @staticmethod
    def seen(mask, ids):
        return torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.to(torch.bool)


class HeadroomEncoderModel(HeadroomModel):
    """An encoder as BERT, without a head."""

    # Files of a model without a head leave this out.
    prefix = ""

    def name_table(self):
        table = [*(BERT_NORMS_FIRST if self.norms_first else BERT_NORMS_LAST), *BERT]
        return [(ours, theirs if self.prefix else theirs.removeprefix("bert.")) for ours, theirs in table]

    def build(self, config, own):
        sizes = {
            "layers": config.num_hidden_layers,
            "heads": config.num_attention_heads,
            "width": config.hidden_size,
            "inner": config.intermediate_size,
            "positions": config.max_position_embeddings,
            "first_position": 0,
            "dropout": config.first("hidden_dropout_prob", default=0.0),
            "epsilon": config.first("layer_norm_eps", default=1e-12),
            "norms_first": self.norms_first,
            "joins": False,
            "activation": ACTIVATIONS[config.first("hidden_act", default="gelu")],
        }
        self.stack = Stack(self, "encoder", sizes, own)
        self.put("input.tokens.weight", (config.vocab_size, config.hidden_size))
        if config.first("type_vocab_size", default=2):
            self.put("input.types.weight", (config.first("type_vocab_size", default=2), config.hidden_size))
        self.stack.tensors()
        self.head(config)

    def head(self, config):
        pass

    def read(self, input_ids, attention_mask, token_type_ids):
        mask, t = self.seen(attention_mask, input_ids), input_ids.shape[1]
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        # Pairs were chosen for one length: shorter texts are padded to it.
        n = self.stack.tokens if self.stack.coverage is not None else t
        if t < n:
            input_ids, types, mask = (functional.pad(x, (0, n - t)) for x in [input_ids, types, mask])
        x = self.words(input_ids)
        if self.has("input.types.weight"):
            x = x + functional.embedding(types, self.tensor("input.types.weight"))
        last, hidden, maps, _ = self.stack(self.stack.begin(x), mask)
        return last[:, :t], tuple(x[:, :t] for x in hidden), tuple(x[:, :, :t, :t] for x in maps)

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, **_):
        last, hidden, maps = self.read(input_ids, attention_mask, token_type_ids)
        return BaseModelOutputWithPooling(last_hidden_state=last, hidden_states=hidden, attentions=maps)


class HeadroomEncoder(HeadroomEncoderModel):
    """An encoder that predicts hidden tokens."""

    prefix = "bert."

    def head(self, config):
        d = config.hidden_size
        self.put_map("head.dense", d, d, True)
        self.put_norm("head.norm", d)
        self.put("head.bias", (config.vocab_size,))

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, labels=None, **_):
        last, hidden, maps = self.read(input_ids, attention_mask, token_type_ids)
        x = self.norm("head.norm", functional.gelu(self.map("head.dense", last)), self.stack.epsilon)
        logits = self.predicted(x) + self.tensor("head.bias")
        loss = None if labels is None else functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return MaskedLMOutput(loss=loss, logits=logits, hidden_states=hidden, attentions=maps)


class HeadroomEncoderForSequenceClassification(HeadroomEncoderModel):
    """An encoder that ends in classes."""

    prefix = "bert."

    def head(self, config):
        self.put_map("head.pooler", config.hidden_size, config.hidden_size, True)
        self.put_map("head.classes", config.hidden_size, config.num_labels, True)

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, labels=None, **_):
        last, hidden, maps = self.read(input_ids, attention_mask, token_type_ids)
        logits = self.map("head.classes", torch.tanh(self.map("head.pooler", last[:, 0])))
        loss = None if labels is None else functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits, hidden_states=hidden, attentions=maps)


class HeadroomEncoderForQuestionAnswering(HeadroomEncoderModel):
    """An encoder that ends in where an answer begins and ends."""

    prefix = "bert."

    def head(self, config):
        self.put_map("head.span", config.hidden_size, 2, True)

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, **_):
        last, hidden, maps = self.read(input_ids, attention_mask, token_type_ids)
        start, end = self.map("head.span", last).unbind(-1)
        return QuestionAnsweringModelOutput(start_logits=start, end_logits=end, hidden_states=hidden, attentions=maps)


class HeadroomDecoder(HeadroomModel, GenerationMixin):
    """A decoder as GPT-2."""

    names = GPT2
    inputs_first = True

    def build(self, config, own):
        sizes = {
            "layers": config.n_layer,
            "heads": config.n_head,
            "width": config.n_embd,
            "inner": config.first("n_inner", default=4 * config.n_embd),
            "positions": config.n_positions,
            "first_position": 0,
            "dropout": config.first("resid_pdrop", default=0.0),
            "epsilon": config.first("layer_norm_epsilon", default=1e-5),
            "norms_first": self.norms_first,
            "joins": True,
            "activation": ACTIVATIONS[config.first("activation_function", default="gelu_new")],
        }
        # Nothing is kept between tokens.
        config.use_cache = False
        config.num_hidden_layers, config.hidden_size = sizes["layers"], sizes["width"]
        self.stack = Stack(self, "decoder", sizes, own)
        self.put("input.tokens.weight", (config.vocab_size, config.n_embd))
        self.stack.tensors()

    def forward(self, input_ids, attention_mask=None, labels=None, **_):
        mask = self.seen(attention_mask, input_ids)
        last, hidden, maps, _ = self.stack(self.stack.begin(self.words(input_ids)), mask)
        logits, loss = self.predicted(last), None
        if labels is not None:
            loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return CausalLMOutput(loss=loss, logits=logits, hidden_states=hidden, attentions=maps)

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **_):
        return {"input_ids": input_ids, "attention_mask": attention_mask}


class HeadroomEncoderDecoder(HeadroomModel):
    """An encoder and a decoder that attends to it, as BART."""

    names = BART

    def build(self, config, own):
        def sizes(of):
            return {
                "layers": getattr(config, f"{of}_layers"),
                "heads": getattr(config, f"{of}_attention_heads"),
                "width": config.d_model,
                "inner": getattr(config, f"{of}_ffn_dim"),
                "positions": config.max_position_embeddings,
                "first_position": 2,
                "dropout": config.first("dropout", default=0.0),
                "epsilon": 1e-5,
                "norms_first": self.norms_first,
                "joins": False,
                "activation": ACTIVATIONS[config.first("activation_function", default="gelu")],
            }

        def answers(of):
            return {key: value for key, value in {**own, **(own.get(of) or {})}.items() if key in ["reuse", "compatibility"]}

        self.encoder_stack = Stack(self, "encoder", sizes("encoder"), answers("encoder"))
        self.decoder_stack = Stack(self, "decoder", sizes("decoder"), answers(""), cross=answers("cross"))
        self.put("input.tokens.weight", (config.vocab_size, config.d_model))
        self.put("head.bias", (1, config.vocab_size))
        self.encoder_stack.tensors()
        self.decoder_stack.tensors()

    def forward(
        self, input_ids, decoder_input_ids, attention_mask=None, decoder_attention_mask=None, labels=None, **_
    ):
        mask = self.seen(attention_mask, input_ids)
        states, hidden, maps, _ = self.encoder_stack(self.encoder_stack.begin(self.words(input_ids)), mask)
        own_mask = self.seen(decoder_attention_mask, decoder_input_ids)
        x = self.decoder_stack.begin(self.words(decoder_input_ids))
        last, own_hidden, own_maps, cross = self.decoder_stack(x, own_mask, states, mask[:, None, None, :])
        logits = self.predicted(last) + self.tensor("head.bias")
        loss = None if labels is None else functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return Seq2SeqLMOutput(
            loss=loss,
            logits=logits,
            decoder_hidden_states=own_hidden,
            decoder_attentions=own_maps,
            cross_attentions=cross,
            encoder_last_hidden_state=states,
            encoder_hidden_states=hidden,
            encoder_attentions=maps,
        )


class HeadroomVision(HeadroomModel):
    """An encoder of the patches of an image, as ViT."""

    names = VIT
    main_input_name = "pixel_values"

    def build(self, config, own):
        d, patch, channels = config.hidden_size, config.patch_size, config.num_channels
        n = (config.image_size // patch) ** 2 + 1
        sizes = {
            "layers": config.num_hidden_layers,
            "heads": config.num_attention_heads,
            "width": d,
            "inner": config.intermediate_size,
            "positions": n,
            "first_position": 0,
            "dropout": config.first("hidden_dropout_prob", default=0.0),
            "epsilon": config.first("layer_norm_eps", default=1e-12),
            "norms_first": self.norms_first,
            "joins": False,
            "activation": ACTIVATIONS[config.first("hidden_act", default="gelu")],
        }
        self.stack = Stack(self, "encoder", sizes, own)
        self.put("input.patches.weight", (d, channels, patch, patch))
        self.put("input.patches.bias", (d,))
        self.put("input.class_token", (1, 1, d))
        self.stack.tensors()
        self.put_map("head.classes", d, config.num_labels, True)

    def put(self, name, shape, of=None):
        # ViT's table of positions has one dimension more.
        super().put(name, (1, *shape) if name == "encoder.positions.weight" else shape, of)

    def tensor(self, name):
        found = super().tensor(name)
        return found[0] if name == "encoder.positions.weight" else found

    def forward(self, pixel_values, labels=None, **_):
        weight, bias = self.tensor("input.patches.weight"), self.tensor("input.patches.bias")
        patches = functional.conv2d(pixel_values, weight, bias, stride=weight.shape[-1]).flatten(2).transpose(1, 2)
        x = torch.cat([self.tensor("input.class_token").expand(len(patches), -1, -1), patches], dim=1)
        mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        last, hidden, maps, _ = self.stack(self.stack.begin(x), mask)
        logits = self.map("head.classes", last[:, 0])
        loss = None if labels is None else functional.cross_entropy(logits, labels)
        return ImageClassifierOutput(loss=loss, logits=logits, hidden_states=hidden, attentions=maps)
