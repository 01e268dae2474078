/**
 * Let the agent of Stagehand shop.
 *
 * Run `npm install @browserbasehq/stagehand@3` in the folder in which you start Souk, then
 *
 *     souk run nudges --agent "command:node docs/agents/stagehand_agent.mjs MODEL"
 *
 * MODEL is asked by chat completions with tools and with a JSON schema: at the server that the variable
 * OPENAI_BASE_URL names, else at OpenAI. SOUK_PROGRAM_ENV=OPENAI_API_KEY gives this program your key, and
 * SOUK_PROGRAM_REACH=443 lets it reach OpenAI (for a server of your own on this machine, write 127.0.0.1 and
 * its port).
 */
import http from "node:http";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { once } from "node:events";

const require = createRequire(`${process.cwd()}/`);
process.chdir(process.env.TMPDIR); // it reads a file .env where it is started; this folder goes with the trial
const { AISdkClient, Stagehand } = require("@browserbasehq/stagehand");
const { createOpenAI } = require("@ai-sdk/openai");

const [line] = await once(createInterface({ input: process.stdin }), "line");
const trial = JSON.parse(line);
const model = process.argv[2];

/** Ask the model's server, and tell Souk of the request. */
async function ask(...request) {
  const answer = await fetch(...request);
  const { usage } = await answer.clone().json().catch(() => ({}));
  if (usage) {
    const tokens = { tokens_in: usage.prompt_tokens, tokens_out: usage.completion_tokens };
    console.log(JSON.stringify({ usage: { model, ...tokens, cost: null } }));
  }
  return answer;
}

/** Ask Souk whether the trial has ended, for example because a product is in the cart. */
async function isOver() {
  const { hostname, port } = new URL(trial.proxy);
  const [answer] = await once(http.get({ hostname, port, path: `${trial.task}trial` }), "response");
  return JSON.parse((await answer.toArray()).join("")).outcome !== "";
}

/** A model that is asked by chat completions, also by Stagehand's agent. */
class Model extends AISdkClient {
  constructor(model) {
    super({ model });
    this.getLanguageModel = () => model;
  }
}

const apiKey = process.env.OPENAI_API_KEY ?? "none";
const provider = createOpenAI({ apiKey, baseURL: process.env.OPENAI_BASE_URL, fetch: ask });
const stagehand = new Stagehand({
  env: "LOCAL",
  llmClient: new Model(provider.chat(model)),
  localBrowserLaunchOptions: {
    executablePath: trial.browser,
    headless: true,
    // Without the bypass Chromium would ask servers of this machine past the proxy.
    proxy: { server: trial.proxy, bypass: "<-loopback>" },
    args: ["--no-sandbox", `--ignore-certificate-errors-spki-list=${trial.spki}`],
  },
  experimental: true, // what follows steps, and stops the agent, is that
  disablePino: true,
  verbose: 0,
});
await stagehand.init();
const over = new AbortController();
let failure = "";
try {
  const result = await stagehand.agent().execute({
    instruction: [trial.goal, "Begin with:", ...trial.urls].join("\n"),
    maxSteps: trial.limits.steps,
    callbacks: { onStepFinish: async () => (await isOver()) && over.abort() },
    signal: over.signal,
  });
  failure = result.completed ? "" : result.message;
} catch (error) {
  failure = over.signal.aborted ? "" : String(error);
}
await stagehand.close();
if (failure) console.log(failure);
process.exit(failure ? 1 : 0);
