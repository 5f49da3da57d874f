import { randomUUID } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { HostEvent, KnownResult } from "./host-protocol.ts";

interface OpenCall {
  readonly same: string;
  /** No request waits for it any more: the CLI cancelled it. */
  isLeft: boolean;
  readonly result: PromiseWithResolvers<CallToolResult>;
}

/** The calls of a CLI that the runner has not answered, and results that the CLI may request again. */
export class PendingCalls {
  readonly #calls = new Map<string, OpenCall>();
  readonly #known: { readonly same: string; readonly result: KnownResult }[];
  readonly #report: (event: HostEvent) => void;

  constructor(known: readonly KnownResult[], report: (event: HostEvent) => void) {
    this.#known = known.map((result) => ({ same: samenessOf(result.tool, result.input), result }));
    this.#report = report;
  }

  /** Returns the result of a call; when `signal` aborts, the call continues, for a later request that repeats it. */
  async make(tool: string, input: unknown, signal: AbortSignal): Promise<CallToolResult> {
    const same = samenessOf(tool, input);
    const at = this.#known.findIndex((one) => one.same === same);
    const [known] = at === -1 ? [] : this.#known.splice(at, 1);
    if (known !== undefined) return resultOf(known.result);
    const [id, call] = this.#left(same) ?? this.#begin({ tool, input, same });
    const leave = (): void => void (call.isLeft = true);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await call.result.promise;
    } finally {
      signal.removeEventListener("abort", leave);
      if (!call.isLeft) this.#calls.delete(id);
    }
  }

  answer(id: string, result: { readonly text: string; readonly isError: boolean }): void {
    this.#calls.get(id)?.result.resolve(resultOf(result));
  }

  /** A call that the CLI gave up is not made twice. */
  #left(same: string): [string, OpenCall] | null {
    const found = [...this.#calls].find(([, call]) => call.isLeft && call.same === same);
    if (found === undefined) return null;
    found[1].isLeft = false;
    return found;
  }

  #begin(call: {
    readonly tool: string;
    readonly input: unknown;
    readonly same: string;
  }): [string, OpenCall] {
    const { tool, input, same } = call;
    const id = `runtime-${randomUUID()}`;
    const open: OpenCall = { same, isLeft: false, result: Promise.withResolvers() };
    this.#calls.set(id, open);
    this.#report({ type: "call", id, tool, input });
    return [id, open];
  }
}

export function resultOf({
  text,
  isError,
}: {
  readonly text: string;
  readonly isError: boolean;
}): CallToolResult {
  return { content: [{ type: "text", text }], isError };
}

function samenessOf(tool: string, input: unknown): string {
  return `${tool} ${JSON.stringify(sorted(input))}`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
