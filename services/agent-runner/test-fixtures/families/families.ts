import { anthropic } from "./anthropic.ts";
import { azure } from "./azure.ts";
import { deepSeek } from "./deepseek.ts";
import type { Family } from "./family.ts";
import { gemini } from "./gemini.ts";
import { kimi } from "./kimi.ts";
import { mistral } from "./mistral.ts";
import { ollama } from "./ollama.ts";
import { openAiChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";
import { openRouter } from "./openrouter.ts";
import { vllm } from "./vllm.ts";

/** The families in the order in which the conformance table falls back from one to the next. */
export const FAMILY_NAMES = [
  "kimi",
  "anthropic",
  "mistral",
  "gemini",
  "deepseek",
  "responses",
  "ollama",
  "azure",
  "vllm",
  "openai-chat",
  "openrouter",
] as const;
export type FamilyName = (typeof FAMILY_NAMES)[number];

export const FAMILIES: Readonly<Record<FamilyName, Family>> = {
  kimi,
  anthropic,
  mistral,
  gemini,
  deepseek: deepSeek,
  responses: openAiResponses,
  ollama,
  azure,
  vllm,
  "openai-chat": openAiChat,
  openrouter: openRouter,
};
