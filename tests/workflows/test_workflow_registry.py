import subprocess
import sys

from jobdeck_backend.workflows.registry import WORKFLOWS, find


def test_the_registry_tells_of_workflows_without_importing_a_graph():
    code = (
        "import sys; from jobdeck_backend.workflows.registry import WORKFLOWS, find;"
        "[w.check_input('{}') for w in WORKFLOWS if w.name == 'probe'];"
        "print([m for m in sys.modules if m.startswith(('langgraph', 'langchain')) or '.graphs' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_people_are_offered_the_public_workflows_and_the_probe_is_for_operators():
    assert {workflow.name for workflow in WORKFLOWS if workflow.public} == {"contract_review", "portfolio"}
    assert not find("probe").public
    assert find("no-such") is None


def test_the_stages_a_workflow_names_are_the_nodes_of_its_graph():
    for workflow in WORKFLOWS:
        request = '{"stages":[{"name":"a"},{"name":"b"}]}' if workflow.name == "probe" else "some words"
        nodes = workflow.load().builder(request).nodes
        assert tuple(nodes) == (workflow.stages or ("a", "b"))
        assert workflow.stages_total(request) == len(nodes)
        assert workflow.load().builder(request) is workflow.load().builder(request)
