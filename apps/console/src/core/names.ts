import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import { cutForReader } from "@switchyard/contracts/cut-text";
import type { RunDetail } from "@switchyard/client/operations";

/** The longest part of an input that names a run, in characters. */
const FIRST_WORDS = 60;

/** `files › edit_file` for `mcp__files__edit_file`; names of built-in tools stay as they are. */
export function toolText(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return server === undefined || tool === undefined ? name : `${server} › ${tool}`;
}

/** The first words of a run's input, in one line; empty when it has no text. */
export function firstWords(input: RunDetail["input"] | string, most = FIRST_WORDS): string {
  const line = inputText(input).trim().split("\n", 1)[0] ?? "";
  return cutForReader(line, most);
}

interface Named {
  readonly agent: string;
  readonly createdAt: string;
  readonly input?: RunDetail["input"];
  /** The beginning of the input, where a list has no more of it. */
  readonly inputStart?: string;
}

/** The name of a run for people: its agent, its first words, and the time at which it began. */
export function runText({ agent, createdAt, input, inputStart }: Named): string {
  const words = firstWords(input ?? inputStart ?? "");
  return [agent, words, clockText(createdAt)].filter((part) => part !== "").join(" · ");
}

/** `14:05` today, `27 Nov 14:05` on another day. */
export function clockText(at: string, now = new Date()): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === now.toDateString()) return time;
  return `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${time}`;
}
