"""
Starts SkyRL's server of the Tinker protocol from an installed `skyrl[jax,tinker]`, on a CPU. SkyRL starts its engine
with `uv run`; this program runs both in the same Python environment.

    python trainer/tests/skyrl_server.py <folder of the base model> <port> <folder for its files>
"""

# pyright: reportMissingImports=false

import os
import runpy
import sys
import typing

import typing_extensions

ENGINE = "skyrl.tinker.engine"


def main() -> None:
    base, port, folder = sys.argv[1:]
    from skyrl.tinker import api  # noqa: PLC0415
    from skyrl.tinker.config import config_to_argv  # noqa: PLC0415

    # Replaces the command with which SkyRL starts its engine. The API is imported, and not run as a module: a module
    # that runs as `__main__` would not see the replacement.
    def engine_command(_: list[str], config: typing.Any) -> list[str]:
        return [sys.executable, __file__, ENGINE, *config_to_argv(config)]

    import uvicorn  # noqa: PLC0415

    api._build_uv_run_cmd_engine = engine_command
    api.app.state.engine_config = api.EngineConfig.model_validate(
        {
            "base_model": base,
            "backend": "jax",
            "backend_config": {"max_lora_adapters": 16, "max_lora_rank": 8, "loss_chunk_size": 0},
            "checkpoints_base": f"{folder}/checkpoints",
            "database_url": f"sqlite:///{folder}/skyrl.db",
        }
    )
    uvicorn.run(api.app, host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    typing.TypedDict = typing_extensions.TypedDict  # pydantic needs this one before Python 3.12
    if sys.argv[1] == ENGINE:
        sys.argv = sys.argv[1:]
        runpy.run_module(ENGINE, run_name="__main__", alter_sys=True)
    else:
        main()
