import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { Sampling } from "@switchyard/contracts/mcp-broker/sampling";
import type { Usage } from "@switchyard/contracts/agent-runner/runs";
import type { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import type { ModelMessage } from "ai";
import type { AnswerPart, FinishReason } from "../core/answer-part.ts";
import type { SentMessage } from "../core/sent-messages.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";

export interface ModelRequest {
  readonly model: LanguageModelV4;
  readonly instructions: string;
  readonly messages: ModelMessage[];
  readonly tools: readonly OfferedTool[];
  readonly temperature: number | null;
  /** Missing: the provider's own. */
  readonly thinking?: ThinkingLevel | undefined;
  /** Settings of the run, before the agent's own temperature. Missing: none. */
  readonly sampling?: Sampling | undefined;
  readonly limits?: { readonly maxOutputTokens: number; readonly stopSequences: string[] };
  /** Mints the id of the n-th tool call of this answer. */
  readonly callIdOf: (index: number) => string;
  /** A provider that is silent for so long is given up, in milliseconds. */
  readonly idleTimeoutMs: number;
  readonly signal: AbortSignal;
  /** More of the answer's text, without reasoning. */
  readonly onDelta: (text: string) => void;
  /** The model's template opens its reasoning, so its text begins inside of it. Missing: false. */
  readonly startsInReasoning?: boolean;
  /** The text given to `onDelta` so far was reasoning, as a closing tag without an opening one shows; the answer follows. */
  readonly onTextVoid?: () => void;
  /** Called with the usage of an answer that began and did not end: as the provider reports it, else estimated. */
  readonly onBrokenOff?: (usage: Usage) => void;
  /** Called with the names of tools that the provider does not accept, before the request without them is sent. */
  readonly onToolsLeftOut?: (names: readonly string[]) => void;
  /**
   * True when the provider caches only marked parts: the messages have their marks, and the system prompt gets one. Missing:
   * false.
   */
  readonly hasCacheMarks?: boolean;
  /** JSON Schema to which the provider itself constrains the answer's text; missing: none. */
  readonly form?: Readonly<Record<string, unknown>>;
  /** Options sent to a provider beside the prompt, by the provider's name. */
  readonly providerOptions?: SharedV4ProviderOptions;
}

export interface ModelAnswer {
  readonly content: AnswerPart[];
  readonly usage: Usage;
  readonly finishReason: FinishReason;
  readonly servedModel: string;
  /** True when the text began inside reasoning that no tag opened; null without a text. */
  readonly startedInReasoning: boolean | null;
  /** The cost that a runtime reports, in US dollars; missing: the cost is computed from the model's price. */
  readonly saidCostUsd?: number;
  /** Messages that a coding CLI has sent with the run's tools; missing: none. */
  readonly sent?: SentMessage[];
}
