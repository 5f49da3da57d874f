// The messages between a runner and the host process of one run: lines of JSON over the host's standard input and output.

import type { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import type { SideEffect } from "@switchyard/service/side-effects";

/** The programs that Switchyard can start; `acp` is any agent of the Agent Client Protocol. */
export const CLIS = ["claude", "codex", "gemini", "opencode", "acp"] as const;
export type Cli = (typeof CLIS)[number];

export interface HostTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** A call that was made before the CLI was interrupted, and its result. */
export interface KnownResult {
  readonly tool: string;
  readonly input: unknown;
  readonly text: string;
  readonly isError: boolean;
}

/** The first line to a host. */
export interface HostStart {
  readonly type: "start";
  readonly cli: Cli;
  readonly command: readonly string[];
  /** Variables beside those that the CLI's own profile sets. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: the CLI's own choice. */
  readonly model: string | null;
  /** The thinking level of its model; null: the CLI's own choice. */
  readonly thinking: Exclude<ThinkingLevel, "off"> | null;
  readonly apiKey: string | null;
  readonly baseURL: string | null;
  /** The run's own directory: the CLI's session files and its working directory. */
  readonly directory: string;
  /**
   * The file in which the host records what the CLI's calls have sent, before the CLI gets a result [F36]. It is outside of the directory, so that a
   * confined CLI cannot write it.
   */
  readonly sideEffectsFile: string;
  /** Null: without one, with the rights of the runner. */
  readonly sandbox: {
    /** Bubblewrap. */
    readonly program: string;
    /** The paths that the CLI must not see, even among the files of its program. */
    readonly secret: readonly string[];
    /** The hosts that it may connect to, as `host:port`. */
    readonly hosts: readonly string[];
  } | null;
  readonly tools: readonly HostTool[];
  /** The text that a new session begins with. */
  readonly firstText: string;
  /** The text that an interrupted session resumes with. */
  readonly resumeText: string;
  /** The CLI gets these when it makes the same call again, once each. */
  readonly known: readonly KnownResult[];
}

/** Results of calls, by the ids that the host gave them. */
export interface HostResults {
  readonly type: "results";
  readonly results: readonly {
    readonly id: string;
    readonly text: string;
    readonly isError: boolean;
    /** The messages and jobs of the call, for the file of side effects; missing: none. */
    readonly effects?: readonly SideEffect[];
  }[];
  readonly tools: readonly HostTool[];
}

export type HostCommand = HostStart | HostResults | { readonly type: "end" };

export type HostEvent =
  /** The process group of the CLI: the runner that finds its host dead ends it. */
  | { readonly type: "started"; readonly group: number }
  | { readonly type: "session"; readonly id: string; readonly isResumed: boolean }
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | { readonly type: "call"; readonly id: string; readonly tool: string; readonly input: unknown }
  /** The usage of one model call. */
  | {
      readonly type: "usage";
      readonly inputTokens: number;
      readonly cachedTokens: number;
      readonly outputTokens: number;
      /** The cost that the CLI itself reports, in US dollars. */
      readonly costUsd?: number;
    }
  /** The turn is over. */
  | { readonly type: "end"; readonly reason: "stop" | "length" | "refused" }
  | { readonly type: "failed"; readonly message: string; readonly isRetryable: boolean };
