import type { LanguageModelV4Usage } from "@ai-sdk/provider";

/** The usage in an answer of Chat Completions; every field may be missing. */
interface ChatUsage {
  readonly prompt_tokens?: number | null | undefined;
  readonly completion_tokens?: number | null | undefined;
  readonly prompt_tokens_details?:
    | { readonly cached_tokens?: number | null | undefined }
    | null
    | undefined;
  readonly completion_tokens_details?:
    | { readonly reasoning_tokens?: number | null | undefined }
    | null
    | undefined;
  readonly [field: string]: unknown;
}

/**
 * Converts the usage of a compatible provider. DeepSeek counts cached tokens in `prompt_cache_hit_tokens`
 * (https://api-docs.deepseek.com/guides/kv_cache), Kimi in `cached_tokens` (https://platform.kimi.ai/docs/api/chat), the others where OpenAI has them.
 */
export function compatibleUsage(usage: ChatUsage | null | undefined): LanguageModelV4Usage {
  const total = usage?.prompt_tokens ?? undefined;
  const written = usage?.completion_tokens ?? undefined;
  const cacheRead =
    usage?.prompt_tokens_details?.cached_tokens ??
    numberIn(usage?.["prompt_cache_hit_tokens"]) ??
    numberIn(usage?.["cached_tokens"]) ??
    0;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    inputTokens: {
      total,
      noCache: total === undefined ? undefined : Math.max(0, total - cacheRead),
      cacheRead,
      cacheWrite: undefined,
    },
    outputTokens: {
      total: written,
      text: written === undefined ? undefined : Math.max(0, written - reasoning),
      reasoning,
    },
  };
}

function numberIn(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
