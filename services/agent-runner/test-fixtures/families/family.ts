import type { IncomingHttpHeaders } from "node:http";
import type { Protocol } from "../model-protocols.ts";
import type { ScriptedAnswer } from "../scripted-answer.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface ProviderRequest {
  /** The path behind the provider's base address. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json;
}

export interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * The fake of one provider's API, as strict as the real one. Each rule names its source: the provider's documentation, or a public report with
 * the provider's own text.
 */
export interface Family {
  readonly protocol: Protocol;
  /** A usual model of the provider. */
  readonly model: string;
  /** The provider's entry in the file of models, for the address of the fake. */
  readonly settings: (url: string) => Json;
  /** The reason why the provider does not answer a request; null when it does. */
  readonly refusal: (request: ProviderRequest) => Refusal | null;
  /** Refusals that the runner learns from: the next request differs, and the run continues. */
  readonly lessons: readonly RegExp[];
  /** The id of a call, as the provider makes it. */
  readonly callId: (index: number, name: string) => string;
  /** True when its models return reasoning in a form of its own. */
  readonly reasons: boolean;
  /** True when its usual model accepts images. */
  readonly sees: boolean;
  /** The refusal of a request for want of capacity for so many seconds. */
  readonly busy: (seconds: number) => Refusal;
  /** The account has no credit; null: it has no accounts. */
  readonly quota: Refusal | null;
  /** The request is larger than the model's window; null: the provider cuts it silently. */
  readonly tooLong: Refusal | null;
  /** Converts the usual chunks of the protocol to the provider's own; a text is a line of the stream. Missing: the usual ones. */
  readonly stream?: (
    chunks: Record<string, unknown>[],
    answer: ScriptedAnswer,
  ) => (Json | string)[];
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

export function listIn(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The error of OpenAI's APIs: https://platform.openai.com/docs/guides/error-codes */
export function openAiError(
  status: number,
  message: string,
  more: Json = {},
  headers: Refusal["headers"] = {},
): Refusal {
  const error = { message, type: "invalid_request_error", param: null, code: null, ...more };
  return { status, headers, body: { error } };
}
