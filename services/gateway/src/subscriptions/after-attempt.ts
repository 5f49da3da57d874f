import type { KeptWebhook } from "../routes/webhook-operations.ts";

/** The result of an attempt: null is success. */
export type AttemptFailure = { readonly error: string; readonly isGone: boolean } | null;

/**
 * Returns the webhook after an attempt; null when it did not change. It is disabled when its receiver is gone, and when no
 * delivery has succeeded for too long.
 */
export function afterAttempt(
  webhook: KeptWebhook,
  failure: AttemptFailure,
  { now, disableAfterMs }: { readonly now: number; readonly disableAfterMs: number },
): KeptWebhook | null {
  if (failure === null)
    return webhook.failingSince === null
      ? null
      : { ...webhook, failingSince: null, lastError: null };
  const failingSince = webhook.failingSince ?? new Date(now).toISOString();
  const isLong = now - Date.parse(failingSince) >= disableAfterMs;
  const reason = failure.isGone ? "gone" : isLong ? "failing" : webhook.reason;
  const status = reason === null ? webhook.status : "disabled";
  return { ...webhook, failingSince, lastError: failure.error, status, reason };
}
