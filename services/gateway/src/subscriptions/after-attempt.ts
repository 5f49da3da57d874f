import type { KeptWebhook } from "../routes/webhook-operations.ts";

/** How an attempt ended: null is success. */
export type AttemptFailure = { readonly error: string; readonly isGone: boolean } | null;

/** How a webhook is after an attempt; null: as it was. It is disabled when its receiver is gone, and when nothing has succeeded for too long. */
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
