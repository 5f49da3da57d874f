import type { MoreRows } from "../core/more-rows.ts";

/** A button under a list with further pages. */
export function LoadMore({ of }: { readonly of: MoreRows<unknown> }) {
  if (!of.isMore) return null;
  return (
    <div class="actions">
      <button
        type="button"
        class="button"
        disabled={of.isLoading}
        onClick={of.load}
        data-testid="load-more"
      >
        {of.isLoading ? "Loading…" : "Load more"}
      </button>
    </div>
  );
}
