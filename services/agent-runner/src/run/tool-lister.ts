import { cutText } from "@switchyard/contracts/cut-text";
import { isError } from "@switchyard/contracts/errors";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import type { RunState } from "../core/run-state.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { aborted, RunStopped, Suspended } from "../core/interruption.ts";
import { suspendOnOutage } from "../context/service-clients.ts";
import type { RunContext } from "../context/run-context.ts";
import type { ActiveRun } from "../journal/active-run.ts";
import { ownToolsOf, policedTools, unusableTools } from "../waits/own-tools.ts";
import { listProviderTools, type Listing } from "../context/list-provider-tools.ts";
import { selectTools, type ToolCatalogue } from "../core/tool-catalogue.ts";

/** After this time the next step lists the tools anew, since servers appear and disappear. */
const CATALOGUE_AGE_MS = 30_000;

type ListerContext = Pick<
  RunContext,
  "clients" | "tokens" | "signal" | "maxToolsPerAgent" | "now"
> & {
  readonly run: Pick<ActiveRun, "state" | "note">;
};

interface Listed {
  readonly tools: ToolCatalogue;
  readonly unavailable: Listing["unavailable"];
}

interface Known {
  readonly tools: ToolCatalogue;
  readonly at: number;
  readonly toolLayers: RunState["toolLayers"];
}

/** The tools that one run may use at the moment; the tools left out of a request are in the journal. */
export class ToolLister {
  readonly #context: ListerContext;
  #known: Known | null = null;
  #ahead: Promise<Listing> | undefined;

  /** `ahead` is the list requested for a new run before the run was made; it is used as the first list. */
  constructor(context: ListerContext, ahead?: Promise<Listing>) {
    this.#context = context;
    this.#ahead = ahead;
  }

  async tools(): Promise<ToolCatalogue> {
    const { now, run } = this.#context;
    if (this.#known !== null && this.#isGood(this.#known)) return this.#known.tools;
    const { toolLayers, leftOut: before, unavailable: missing } = run.state;
    const { tools, unavailable } = await this.#list();
    this.#known = { tools, at: now(), toolLayers };
    const { offered, leftOut } = tools;
    if (leftOut.length > 0 && leftOut.join() !== before.join())
      await run.note({ kind: "tools-left-out", offered: offered.length, leftOut: [...leftOut] });
    // The same server may report another reason each time.
    if (serversOf(unavailable) !== serversOf(missing))
      await run.note({ kind: "tools-unavailable", servers: [...unavailable] });
    return tools;
  }

  /** True when a call that is made now uses this list. */
  isCurrent(tools: ToolCatalogue): boolean {
    return this.#known?.tools === tools && this.#isGood(this.#known);
  }

  /** Drops an outdated list: the next step lists the tools anew. */
  forget(): void {
    this.#known = null;
  }

  #isGood({ at, toolLayers }: Known): boolean {
    const { now, run } = this.#context;
    // A skill that was activated since may have removed tools.
    return toolLayers === run.state.toolLayers && now() - at < CATALOGUE_AGE_MS;
  }

  async #list(): Promise<Listed> {
    const { clients, tokens, signal, run, maxToolsPerAgent: maxTools } = this.#context;
    const { started, found, shownTools, toolLayers } = run.state;
    const { catalogue, runId } = started;
    // An agent without tools needs no broker, and gets no skill either.
    if (toolLayers.some((layer) => layer.length === 0)) {
      const tools = selectTools({ tools: [], layers: toolLayers, skills: [] });
      return { tools, unavailable: [] };
    }
    const call = { signal, correlationId: runId };
    const token = await suspendOnOutage(signal, () => tokens.get());
    try {
      const asking = { token, layers: toolLayers, policed: policedTools(run.state) };
      const { tools, denied, unavailable } = await suspendOnOutage(signal, () => {
        const ahead = this.#ahead;
        this.#ahead = undefined;
        return ahead === undefined
          ? listProviderTools(clients, asking, call)
          : Promise.race([ahead, abortOf(signal)]);
      });
      const skills = catalogue.map(({ name }) => name);
      const own = ownToolsOf(started);
      const unusable = unusableTools(run.state, denied);
      const about = aboutOf(started);
      const shown = Object.keys(shownTools);
      const wanted = { skills, own, unusable, about, found, shown, maxTools };
      return { tools: selectTools({ tools, layers: toolLayers, ...wanted }), unavailable };
    } catch (error) {
      if (isError(error, listTools, "run_stopped"))
        throw new RunStopped(error.data, { cause: error });
      if (!isError(error, listTools, "invalid_token")) throw error;
      tokens.refuse(token);
      throw new Suspended("a tool provider refused the run token", { cause: error });
    }
  }
}

function serversOf(unavailable: Listing["unavailable"]): string {
  return [...new Set(unavailable.map(({ server }) => server))].join();
}

/** Rejects when the signal aborts, with its reason. */
async function abortOf(signal: AbortSignal): Promise<never> {
  await aborted(signal);
  throw signal.reason;
}

/**
 * The text that decides which tools are shown when there are too many. It is the same for the runs of a session, as long as the
 * session has its first message.
 */
function aboutOf({ agent, roles = [], instructions, prompt, before = [] }: StartedEntry): string {
  const task = before[0]?.text ?? prompt;
  return [agent, ...roles, cutText(task, 2_000), cutText(instructions, 1_000)].join("\n");
}
