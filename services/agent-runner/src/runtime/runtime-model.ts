import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { SideEffect, SideEffects } from "@switchyard/service/side-effects";
import type { SentMessage } from "../core/sent-messages.ts";
import type { HostEvent, HostStart, HostTool } from "../runtime-host/host-protocol.ts";
import { RuntimeFailure, type RuntimeHost } from "./runtime-host.ts";
import type { RuntimeHosts } from "./runtime-hosts.ts";
import { firstText, knownResults, resultsOf, resumeText, saidSince } from "./runtime-texts.ts";

/** Name of the provider options with which a run sends its details to the CLI, beside the prompt. */
export const RUNTIME_OPTIONS = "runtime";

/** Calls that a CLI makes at the same time come as one answer. */
const TOGETHER_MS = 150;

export type RuntimeSettings = Pick<
  HostStart,
  "cli" | "command" | "env" | "model" | "apiKey" | "baseURL"
> & { readonly sandbox: () => Promise<HostStart["sandbox"]> };

/**
 * A coding CLI used as a model: an answer is its output up to its next tool calls, or up to the end of its turn. The CLI waits for
 * the results while the runner decides about the calls, makes them and records them.
 */
export function createRuntimeModel(
  hosts: RuntimeHosts,
  { sandbox, ...settings }: RuntimeSettings,
): LanguageModelV4 {
  const { cli, model } = settings;
  const begin = async (
    runId: string,
    options: LanguageModelV4CallOptions,
  ): Promise<RuntimeHost> => {
    const { prompt, reasoning = "provider-default" } = options;
    const tools = toolsOf(options);
    const waiting = hosts.waiting(runId);
    const results = resultsOf(prompt);
    if (
      waiting !== null &&
      [...waiting.pending].every((id) => results.some((one) => one.id === id))
    ) {
      const effects = effectsIn(options);
      const wanted = results
        .filter(({ id }) => waiting.pending.delete(id))
        .map((result) => withEffects(result, effects[result.id]));
      waiting.send({ type: "results", results: withNews(wanted, saidSince(prompt)), tools });
      return waiting;
    }
    return hosts.start(runId, {
      ...settings,
      thinking: reasoning === "provider-default" ? null : reasoning,
      sandbox: await sandbox(),
      tools,
      firstText: firstText(prompt),
      resumeText: resumeText(prompt),
      known: knownResults(prompt),
    });
  };
  return {
    specificationVersion: "v4",
    provider: cli,
    modelId: model ?? cli,
    supportedUrls: {},
    async doGenerate() {
      throw new RuntimeFailure(
        `${cli} is a runtime of agents and answers no single question`,
        false,
      );
    },
    async doStream(options) {
      const runId = options.providerOptions?.[RUNTIME_OPTIONS]?.["runId"];
      if (typeof runId !== "string")
        throw new RuntimeFailure(
          `${cli} is a runtime of agents and answers no single question`,
          false,
        );
      return { stream: ReadableStream.from(partsOf(hosts, { runId, options, begin })) };
    },
  };
}

async function* partsOf(
  hosts: RuntimeHosts,
  {
    runId,
    options,
    begin,
  }: {
    readonly runId: string;
    readonly options: LanguageModelV4CallOptions;
    readonly begin: (runId: string, options: LanguageModelV4CallOptions) => Promise<RuntimeHost>;
  },
): AsyncGenerator<LanguageModelV4StreamPart> {
  const { abortSignal } = options;
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {}); // the waiting caller handles the rejection
  const onAbort = (): void => aborted.reject(abortSignal?.reason);
  abortSignal?.addEventListener("abort", onAbort, { once: true });
  if (abortSignal?.aborted === true) onAbort();
  let isWanted = false;
  try {
    yield { type: "stream-start", warnings: [] };
    const host = await begin(runId, options);
    const answer = new RuntimeAnswer(host);
    for (;;) {
      const wait = answer.calls === 0 ? undefined : TOGETHER_MS;
      const event = await Promise.race([host.next(wait), aborted.promise]);
      if (event?.type === "failed") throw new RuntimeFailure(event.message, event.isRetryable);
      if (event?.type === "call") host.pending.add(event.id);
      if (event !== null) yield* answer.partsOf(event);
      if (event === null || event.type === "end") {
        isWanted = event === null;
        yield* answer.finish(event, isWanted ? [] : await sentBy(hosts, runId));
        return;
      }
    }
  } finally {
    abortSignal?.removeEventListener("abort", onAbort);
    if (isWanted) hosts.keep(runId);
    else await hosts.leave(runId, { hasEnded: false });
  }
}

/** Ends the CLI, whose turn is over, and reads what it has sent, also before an earlier one died. */
async function sentBy(hosts: RuntimeHosts, runId: string): Promise<SentMessage[]> {
  await hosts.leave(runId, { hasEnded: false });
  const { sentTexts, sentTargets } = await hosts.sideEffects(runId);
  return sentTargets.map((target, index) => sentMessage(target, sentTexts[index] ?? ""));
}

function sentMessage(
  { provider, accountId, to, threadId }: SideEffects["sentTargets"][number],
  text: string,
): SentMessage {
  return {
    text,
    provider,
    ...(accountId !== undefined && { accountId }),
    ...(to !== undefined && { to }),
    ...(threadId !== undefined && { threadId }),
  };
}

function withEffects<T>(result: T, effects: readonly SideEffect[] | undefined) {
  return effects === undefined ? result : { ...result, effects };
}

/** The side effects of the calls whose results the CLI waits for, by the ids of the calls. */
function effectsIn({ providerOptions }: LanguageModelV4CallOptions): Record<string, SideEffect[]> {
  const effects = providerOptions?.[RUNTIME_OPTIONS]?.["effects"];
  // The runner wrote it.
  return typeof effects === "string" ? (JSON.parse(effects) as Record<string, SideEffect[]>) : {};
}

/** The parts of one answer, as a provider sends them. */
class RuntimeAnswer {
  calls = 0;
  #blocks = 0;
  #open: "text" | "reasoning" | null = null;
  #usage = { inputTokens: 0, cachedTokens: 0, outputTokens: 0 };
  #costUsd = 0;
  readonly #host: Pick<RuntimeHost, "saysCost">;

  constructor(host: Pick<RuntimeHost, "saysCost">) {
    this.#host = host;
  }

  *partsOf(event: HostEvent): Generator<LanguageModelV4StreamPart> {
    switch (event.type) {
      case "text":
      case "reasoning":
        if (this.#open !== event.type) yield* this.#begin(event.type);
        yield { type: `${event.type}-delta`, id: String(this.#blocks), delta: event.text };
        return;
      case "call":
        yield* this.#close();
        this.calls += 1;
        yield {
          type: "tool-call",
          toolCallId: event.id,
          toolName: event.tool,
          input: JSON.stringify(event.input),
        };
        return;
      case "usage":
        this.#usage.inputTokens += event.inputTokens;
        this.#usage.cachedTokens += event.cachedTokens;
        this.#usage.outputTokens += event.outputTokens;
        this.#costUsd += event.costUsd ?? 0;
        if (event.costUsd !== undefined) this.#host.saysCost = true;
        return;
      default: // the session is the host's; ends are not parts
    }
  }

  *finish(
    end: (HostEvent & { type: "end" }) | null,
    sent: readonly SentMessage[],
  ): Generator<LanguageModelV4StreamPart> {
    yield* this.#close();
    const { inputTokens, cachedTokens, outputTokens } = this.#usage;
    yield {
      type: "finish",
      finishReason: { unified: finishOf(end), raw: undefined },
      usage: {
        inputTokens: {
          total: inputTokens,
          noCache: inputTokens - cachedTokens,
          cacheRead: cachedTokens,
          cacheWrite: 0,
        },
        outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
      },
      // A CLI that reports costs had none for an answer without a cost.
      providerMetadata: {
        [RUNTIME_OPTIONS]: {
          ...(this.#host.saysCost && { costUsd: this.#costUsd }),
          ...(sent.length > 0 && { sent: sent.map((one) => ({ ...one })) }),
        },
      },
    };
  }

  *#begin(type: "text" | "reasoning"): Generator<LanguageModelV4StreamPart> {
    yield* this.#close();
    this.#blocks += 1;
    this.#open = type;
    yield { type: `${type}-start`, id: String(this.#blocks) };
  }

  *#close(): Generator<LanguageModelV4StreamPart> {
    if (this.#open === null) return;
    yield { type: `${this.#open}-end`, id: String(this.#blocks) };
    this.#open = null;
  }
}

function finishOf(
  end: (HostEvent & { type: "end" }) | null,
): LanguageModelV4FinishReason["unified"] {
  if (end === null) return "tool-calls";
  return end.reason === "refused" ? "content-filter" : end.reason;
}

function toolsOf({ tools = [] }: LanguageModelV4CallOptions): HostTool[] {
  return tools.flatMap((tool) =>
    tool.type === "function"
      ? [
          {
            name: tool.name,
            description: tool.description ?? "",
            // A JSON Schema is an object, or true and false, which no tool has.
            inputSchema: tool.inputSchema as Record<string, unknown>,
          },
        ]
      : [],
  );
}

/** Adds a person's message that came in the middle of a CLI's turn to the next result, with which the CLI receives it. */
function withNews<T extends { readonly text: string }>(results: readonly T[], news: string): T[] {
  if (news === "") return [...results];
  return results.map((result, index) =>
    index === results.length - 1
      ? { ...result, text: `${result.text}\n\n[A message that came meanwhile: ${news}]` }
      : result,
  );
}
