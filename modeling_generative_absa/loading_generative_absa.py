"""Loading pointer models, and loading backbones under new pointers; saving both with their code."""

from copy import deepcopy
from dataclasses import fields
from inspect import signature

from torch import nn
from transformers import MODEL_MAPPING, AutoConfig, AutoModel
from transformers.configuration_utils import PreTrainedConfig
from transformers.modeling_utils import PreTrainedModel

from .configuration_generative_absa import SPECIAL_INDICES, PointerABSAConfig

OF_THE_FILE = ("cache_dir", "force_download", "local_files_only", "proxies", "revision", "subfolder", "token")
AUTO_MAP = {
    "AutoConfig": "configuration_generative_absa.PointerABSAConfig",
    "AutoModel": "modeling_generative_absa.PointerABSAModel",
    "AutoModelForSeq2SeqLM": "modeling_generative_absa.PointerForABSA",
}


def backbone_options(config: PreTrainedConfig) -> dict[str, bool]:
    """No pooler: nothing depends on it, and parameters without a gradient stop distributed training."""
    has_pooler = "add_pooling_layer" in signature(MODEL_MAPPING[type(config)]).parameters
    return {"add_pooling_layer": False} if has_pooler else {}


class PointerPreTrainedModel(PreTrainedModel):
    """Loading and saving."""

    config: PointerABSAConfig
    config_class = PointerABSAConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    # The backend of attention is the backbone's, which says what it supports.
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = True

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path, *model_args, config=None, **kwargs):
        """Loads a model of this family, or an encoder or encoder-decoder under new pointers.

        Of the latter all weights but its head's and its pooler's are loaded, and every other weight is new and
        reported as missing. `start_classes` gives the new class tokens a meaning.

        Args:
            pretrained_model_name_or_path: folder or Hub id of a model of this family, or of a backbone.
            config: for a backbone, the new model's configuration, whose `backbone_config` may be None.
            kwargs: for a backbone without `config`, fields of the new model's configuration; the other arguments are
                those of `PreTrainedModel.from_pretrained`.
        Raises:
            ValueError: if the checkpoint of a backbone is of another type than `backbone_config`, or lacks some of its
                weights, which would stay random.
        """
        of_the_file = {name: kwargs[name] for name in OF_THE_FILE if name in kwargs}
        found = {}
        if pretrained_model_name_or_path is not None:
            found, _ = PreTrainedConfig.get_config_dict(pretrained_model_name_or_path, **of_the_file)
        if found.get("model_type", cls.config_class.model_type) == cls.config_class.model_type:
            return super().from_pretrained(pretrained_model_name_or_path, *model_args, config=config, **kwargs)
        return cls._from_backbone(pretrained_model_name_or_path, config, of_the_file, **kwargs)

    @classmethod
    def _from_backbone(
        cls, name: str, config: PointerABSAConfig | None, of_the_file: dict, output_loading_info=False, **kwargs
    ):
        backbone_config = AutoConfig.from_pretrained(name, **of_the_file)
        if config is None:
            known = {"num_labels", *(field.name for field in fields(cls.config_class))} - {"dtype"}
            chosen = {field: kwargs.pop(field) for field in known & kwargs.keys()}
            config = cls.config_class(backbone_config=backbone_config, **chosen)
        config = deepcopy(config)  # the user's own stays as it is
        if config.backbone_config is None:
            config.backbone_config = backbone_config
            config.validate()
        if config.backbone_config.model_type != backbone_config.model_type:
            raise ValueError(
                f"backbone_config is of a {config.backbone_config.model_type}, {name} holds a "
                f"{backbone_config.model_type}: leave backbone_config out, or give another checkpoint"
            )
        backbone, loading = AutoModel.from_pretrained(
            name,
            config=config.backbone_config,
            output_loading_info=True,
            **backbone_options(config.backbone_config),
            **kwargs,
        )
        random = sorted({*loading["missing_keys"], *(key for key, *_ in loading["mismatched_keys"])})
        if random:
            raise ValueError(
                f"{name} lacks {len(random)} weights of its backbone, which would stay random: "
                f"{', '.join(random[:5])}. Give a complete checkpoint"
            )
        model = cls._from_config(
            config, attn_implementation=backbone.config._attn_implementation, dtype=backbone.dtype
        )
        model.base_model.backbone = backbone
        model.eval()
        if not output_loading_info:
            return model
        of_backbone = f"{model.base_model_prefix}.backbone." if model.base_model is not model else "backbone."
        loading["missing_keys"] = {key for key in model.state_dict() if not key.startswith(of_backbone)}
        return model, loading

    def save_pretrained(self, save_directory, *args, **kwargs):
        """As `PreTrainedModel.save_pretrained`; the configuration names all classes of the code saved beside it.

        Left to itself the base class would name the one of this head only.
        """
        self.config.auto_map = dict(AUTO_MAP)
        self.config.custom_pipelines = self.custom_pipelines()
        # A Trainer puts a tokenizer's in their place, which are no indices that are generated.
        self.config.update(SPECIAL_INDICES)
        if getattr(self, "generation_config", None) is not None:
            self.generation_config.update(**SPECIAL_INDICES)
        super().save_pretrained(save_directory, *args, **kwargs)

    def custom_pipelines(self) -> dict[str, dict]:
        """What the configuration says of pipelines; without a head there are none."""
        return {}

    def resize_token_embeddings(self, *args, **kwargs) -> nn.Embedding:
        """Of the backbone, whose vocabulary is that of texts."""
        return self.base_model.backbone.resize_token_embeddings(*args, **kwargs)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.base_model.backbone.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Embedding):
        self.base_model.backbone.set_input_embeddings(value)


__all__ = ["PointerPreTrainedModel", "backbone_options"]
