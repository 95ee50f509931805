"""Messages: two lines, and options spelled for whoever reads them."""

import pytest

from fairbench_cli.base.errors import Flag, Problem, UserError, spell


def test_each_surface_spells_an_option_its_way():
    words = ("use ", Flag("top-share", 0.1), ", ", Flag("ref-method", "majority"), " or ", Flag("cluster"))
    assert spell(words) == "use --top-share 0.1, --ref-method majority or --cluster"
    assert spell(words, "python") == 'use top_share=0.1, ref_method="majority" or cluster='
    assert spell(words, "file") == "use top-share: 0.1, ref-method: majority or cluster"


def test_names_with_dashes_are_no_options():
    problem = Problem('no column "no--such"', ("use one of: a--b, or ", Flag("score", "a--b")), Flag("score"))
    assert str(problem).splitlines() == [
        '--score: error: no column "no--such"',
        "  fix: use one of: a--b, or --score a--b",
    ]
    assert str(problem.spell("python")).splitlines() == [
        'score=: error: no column "no--such"',
        '  fix: use one of: a--b, or score="a--b"',
    ]


def test_problems_may_be_said_of_another_place():
    with pytest.raises(UserError) as caught:
        raise UserError(*UserError(Problem("a", "b"), Problem("c", "d", "x:1")).reported_at("y:2"))
    assert str(caught.value) == "y:2: error: a\n  fix: b\ny:2: error: c\n  fix: d"


def test_an_error_is_spelled_for_who_called_and_again_for_the_command_line():
    arc = Flag("require-arc", "s>y", 'require_arcs=[("s", "y")]')
    error = UserError(Problem("no arc", ("learn one: ", arc)), surface="python")
    assert str(error) == 'error: no arc\n  fix: learn one: require_arcs=[("s", "y")]'
    assert str(error.problems[0]) == "error: no arc\n  fix: learn one: --require-arc 's>y'"
