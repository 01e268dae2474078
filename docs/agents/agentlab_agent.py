"""Let an agent of AgentLab shop: its GenericAgent, in a BrowserGym environment of its own.

AgentLab needs other versions of packages than Souk, so install it in an environment of its own (Python 3.11
or 3.12). What this file uses of it needs no torch, no ray and no benchmarks:

    python -m venv al
    al/bin/pip install browsergym-experiments anthropic pandas requests "openai<2" "litellm<1.79"
    al/bin/pip install --no-deps agentlab
    souk run nudges --agent "command:al/bin/python docs/agents/agentlab_agent.py MODEL"

MODEL is asked by chat completions: at the server that the variable OPENAI_BASE_URL names, else at OpenAI.
SOUK_PROGRAM_ENV=OPENAI_API_KEY gives this program your key, and SOUK_PROGRAM_REACH=443 lets it reach OpenAI
(for a server of your own on this machine, write 127.0.0.1 and its port).
"""

import json
import os
import sys
import time
import urllib.request
from copy import deepcopy

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else a list of prices is fetched at the import

import browsergym.core.env
from agentlab.agents.generic_agent.agent_configs import FLAGS_GPT_4o
from agentlab.agents.generic_agent.generic_agent import GenericAgentArgs
from agentlab.llm.chat_api import OpenAIChatModel, OpenAIModelArgs
from browsergym.core.task import AbstractBrowserTask
from browsergym.experiments.benchmark import HighLevelActionSetArgs

trial = json.loads(sys.stdin.readline())


class Model(OpenAIChatModel):
    """A model that tells Souk of each request."""

    def __init__(self, name):
        # The client repeats what may be repeated; AgentLab would wait a minute after any refusal.
        super().__init__(
            name,
            api_key=os.environ.get("OPENAI_API_KEY", "none"),
            temperature=0.1,
            max_tokens=None,
            max_retry=1,
            min_retry_wait_time=0,
        )
        ask = self.client.chat.completions.create

        def create(**request):
            answer = ask(**request)
            if used := answer.usage:
                tokens = {"tokens_in": used.prompt_tokens, "tokens_out": used.completion_tokens}
                print(json.dumps({"usage": {"model": name, **tokens, "cost": None}}), flush=True)
            return answer

        self.client.chat.completions.create = create


class ModelArgs(OpenAIModelArgs):
    """What AgentLab makes the model of."""

    def make_model(self):
        """Make the model."""
        return Model(self.model_name)


class Chat:
    """The messages of a trial. BrowserGym's own chat would open a second browser to show them."""

    def __init__(self, **window):
        self.messages = []

    def add_message(self, role, msg):
        """Keep a message."""
        self.messages.append({"role": role, "timestamp": time.time(), "message": msg})

    def close(self):
        """Close nothing."""


class Shopping(AbstractBrowserTask):
    """The trial as a task: each of its pages in a tab."""

    def setup(self, page):
        """Open the pages, and look at the first."""
        first, *others = trial["urls"]
        for url in others:
            page.context.new_page().goto(url)
        page.goto(first)
        page.bring_to_front()
        return trial["goal"], {}

    def validate(self, page, chat_messages):
        """Ask Souk whether the trial has ended, for example because a product is in the cart."""
        through = urllib.request.build_opener(urllib.request.ProxyHandler({"http": trial["proxy"]}))
        with through.open(f"{trial['task']}trial") as answer:
            over = json.load(answer)["outcome"] != ""
        return 0.0, over, "", {}


def main() -> str | None:
    """Shop until the trial is over, or the agent is done; return what failed."""
    flags = deepcopy(FLAGS_GPT_4o)
    flags.max_prompt_tokens = None  # to count tokens, a tokenizer would be fetched
    flags.obs.use_tabs = True
    flags.action.action_set = HighLevelActionSetArgs(subsets=("infeas", "bid", "nav", "tab"))
    agent = GenericAgentArgs(chat_model_args=ModelArgs(model_name=sys.argv[1]), flags=flags).make_agent()
    browsergym.core.env.Chat = Chat
    env = browsergym.core.env.BrowserEnv(
        Shopping,
        slow_mo=0,
        action_mapping=agent.action_set.to_python_code,
        pw_chromium_kwargs={"executable_path": trial["browser"], "proxy": {"server": trial["proxy"]}},
        pw_context_kwargs={"ignore_https_errors": True},  # only the proxy is asked, and it looks at them
    )
    try:
        seen, _ = env.reset()
        for _ in range(trial["limits"]["steps"]):
            action, _ = agent.get_action(agent.obs_preprocessor(seen))
            if action is None:
                return "none of the model's answers held an action"
            print(action, flush=True)
            seen, _, over, _, _ = env.step(action)
            if over:
                return None
    finally:
        env.close()
    return None


sys.exit(main())
