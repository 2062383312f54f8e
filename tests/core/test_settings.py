"""Settings: who wins, what is refused, and that keys stay out."""

import json
import tempfile
from pathlib import Path

import pytest

from equipoise.errors import InputError
from equipoise.settings import Settings, default_cache_dir, load_settings


def toml(folder: Path, text: str) -> Path:
    path = folder / "given.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder without an equipoise.toml."""
    monkeypatch.chdir(tmp_path)


def test_argument_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    file = toml(tmp_path, 'model = "openai:f"\ndetector = "f"\nembedder = "f"\n')
    environ = {"EQUIPOISE_MODEL": "openai:e", "EQUIPOISE_DETECTOR": "e"}
    settings = load_settings(environ=environ, file=file, overrides={"model": "openai:a"})
    assert (settings.model, settings.detector, settings.embedder) == ("openai:a", "e", "f")
    assert settings.generator_threads == Settings().generator_threads == 1


def test_values_of_the_environment_are_read_in_the_type_of_their_field() -> None:
    environ = {
        "EQUIPOISE_TIMEOUT_S": "2.5",
        "EQUIPOISE_DETECTOR_THREADS": " 3 ",
        "EQUIPOISE_CACHE_DIR": "~/x",
        "EQUIPOISE_MAX_TOKENS": "",
        "EQUIPOISE_MODEL": "123",
        "EQUIPOISE_UNSURE_BELOW": "0.6",
    }
    settings = load_settings(environ=environ)
    assert settings.timeout_s == 2.5
    assert settings.detector_threads == 3
    assert settings.cache_dir == Path.home() / "x"
    assert settings.max_tokens is None
    assert settings.model == "123"
    assert settings.unsure_below == 0.6


def test_file_in_the_current_folder_is_read_without_asking(tmp_path: Path) -> None:
    (tmp_path / "equipoise.toml").write_text("\ufefftimeout_s = 7\n", encoding="utf-8")
    assert load_settings(environ={}).timeout_s == 7.0


def test_a_threshold_of_0_in_the_environment_switches_off_that_of_the_file(tmp_path: Path) -> None:
    file = toml(tmp_path, "unsure_below = 0.7")
    assert Settings().unsure_below == 0.0
    assert load_settings(environ={}, file=file).unsure_below == 0.7
    assert load_settings(environ={"EQUIPOISE_UNSURE_BELOW": "0"}, file=file).unsure_below == 0.0


def test_override_of_none_counts_as_not_given() -> None:
    environ = {"EQUIPOISE_MODEL": "openai:e"}
    assert load_settings(environ=environ, overrides={"model": None}).model == "openai:e"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("threads = 2", "threads"),
        ("[equipoise]\nmodel = 'x'", "equipoise"),
        ("generator_threads = true", "generator_threads must be a whole number >= 1, got True"),
        ("generator_threads = 1.0", "generator_threads"),
        ("generator_threads = 0", "generator_threads"),
        ("timeout_s = -1", "timeout_s must be a number > 0, got -1"),
        ("timeout_s = inf", "timeout_s"),
        ("timeout_s = nan", "timeout_s"),
        ("unsure_below = 1", "unsure_below must be a number in [0, 1), got 1"),
        ("unsure_below = -0.1", "unsure_below"),
        ("unsure_below = nan", "unsure_below"),
        ("unsure_below = true", "unsure_below"),
        ("unsure_below = '0.5'", "unsure_below"),
        ("model = ''", "model must be a text that is not blank"),
        ("model = 5", "model"),
        ("cache_dir = 5", "cache_dir must be a path"),
        ("api_key = 'k'", "api_key"),
        ("model = ", "must be TOML"),
    ],
)
def test_wrong_file_is_an_error_that_names_source_and_key(
    tmp_path: Path, text: str, named: str
) -> None:
    with pytest.raises(InputError) as raised:
        load_settings(environ={}, file=toml(tmp_path, text))
    assert named in str(raised.value)
    assert "given.toml" in str(raised.value)


def test_unknown_key_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Known are cache_dir, detector, .*generator_threads"):
        load_settings(environ={}, file=toml(tmp_path, "colour = 'red'"))


def test_unknown_variable_is_named_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"EQUIPOISE_MODLE is not known.*EQUIPOISE_MODEL"):
        load_settings(environ={"EQUIPOISE_MODLE": "x", "PATH": "/"})


@pytest.mark.parametrize("value", ["two", "1.5", "0", "-1", "nan"])
def test_wrong_variable_is_named(value: str) -> None:
    with pytest.raises(InputError, match=f"EQUIPOISE_GENERATOR_THREADS.*got .*{value}"):
        load_settings(environ={"EQUIPOISE_GENERATOR_THREADS": value})


def test_wrong_argument_is_named() -> None:
    with pytest.raises(InputError, match="argument: timeout_s"):
        load_settings(environ={}, overrides={"timeout_s": "soon"})
    with pytest.raises(InputError, match="argument has settings that are not known: colour"):
        load_settings(environ={}, overrides={"colour": "red"})
    with pytest.raises(InputError, match="Settings: generator_threads"):
        Settings(generator_threads=0)


def test_missing_named_file_is_an_error_but_a_missing_default_is_not(tmp_path: Path) -> None:
    assert load_settings(environ={}).model == "local"
    with pytest.raises(InputError, match=r"none\.toml.*cannot be read"):
        load_settings(environ={}, file=tmp_path / "none.toml")


def test_no_field_can_hold_a_key_and_settings_go_into_json() -> None:
    names = Settings.__slots__
    assert not [name for name in names if "key" in name and name != "api_key_env"]
    written = json.loads(json.dumps(Settings().to_dict()))
    assert sorted(written) == sorted(names)


def test_cache_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path.home()
    assert default_cache_dir({"XDG_CACHE_HOME": "/x"}) == Path("/x/equipoise")
    monkeypatch.setattr("sys.platform", "linux")
    assert default_cache_dir({}) == home / ".cache" / "equipoise"
    monkeypatch.setattr("sys.platform", "darwin")
    assert default_cache_dir({}) == home / "Library" / "Caches" / "equipoise"
    monkeypatch.setattr("sys.platform", "win32")
    assert default_cache_dir({"LOCALAPPDATA": "/l"}) == Path("/l/equipoise")


def test_a_user_without_a_home_has_a_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(path: object = None) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(Path, "home", homeless)
    folder = default_cache_dir({})
    assert folder.parent == Path(tempfile.gettempdir())
    assert folder.name.startswith("equipoise-")
    monkeypatch.setattr(Path, "expanduser", homeless)
    with pytest.raises(InputError, match="EQUIPOISE_CACHE_DIR: cache_dir must be a path"):
        load_settings(environ={"EQUIPOISE_CACHE_DIR": "~/x"})


def test_cache_folder_of_the_given_environment_is_the_default() -> None:
    assert load_settings(environ={"XDG_CACHE_HOME": "/x"}).cache_dir == Path("/x/equipoise")


def test_every_variable_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[2] / "docs/command-line.md").read_text(encoding="utf-8")
    assert not [name for name in Settings.__slots__ if f"`EQUIPOISE_{name.upper()}`" not in manual]


def test_the_variable_of_a_servers_keys_is_no_setting() -> None:
    assert load_settings(environ={"EQUIPOISE_KEYS": "a,b"}) == load_settings(environ={})
    with pytest.raises(InputError, match="EQUIPOISE_KEY is not known"):
        load_settings(environ={"EQUIPOISE_KEY": "a"})
