import { dropToast, toasts } from "../core/toasts.ts";
import { said } from "./statuses.ts";

export function ToastHost() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, more, tone }) => (
        <div key={id} class={`toast ${tone}`} data-testid="toast" data-status={said("toast", tone)}>
          <div>
            <strong>{text}</strong>
            {more !== undefined && more !== "" && <p>{more}</p>}
          </div>
          <button
            type="button"
            class="button small"
            onClick={() => dropToast(id)}
            aria-label="Close"
          >
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
