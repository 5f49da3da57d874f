import type { Problem } from "@switchyard/client/problem-error";
import { useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { address } from "../core/router.ts";
import { signIn } from "../core/session.ts";
import { ProblemNote } from "../ui/resource-view.tsx";

export function SignIn({ ways, problem }: { ways: readonly string[]; problem: Problem | null }) {
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    const given = textsOf(event)("credential");
    setBusy(true);
    await signIn(given.trim());
    setBusy(false);
  };
  const { pathname, search } = address.value;
  return (
    <main class="sign-in" data-testid="sign-in">
      <img src="/icon.svg" alt="" width={48} height={48} />
      <h1>Switchyard</h1>
      <p class="about">See and steer your agents.</p>
      {problem !== null && <ProblemNote problem={problem} />}
      {ways.includes("oidc") && (
        <a
          class="button primary"
          href={`/auth/login?returnTo=${encodeURIComponent(`${pathname}${search}`)}`}
        >
          Sign in with your organisation
        </a>
      )}
      <form onSubmit={(event) => void submit(event)}>
        <label class="field">
          <span>API key or token</span>
          <input
            name="credential"
            type="password"
            autoComplete="off"
            required
            placeholder="yk_…"
            maxLength={16_384}
          />
        </label>
        <button class="button primary" disabled={isBusy}>
          {isBusy ? "Signing in…" : "Sign in"}
        </button>
      </form>
      <p class="quiet">
        On a laptop, <code>yard dev</code> prints an address that signs you in. Elsewhere an admin
        makes a key with <code>yard keys api create</code>.
      </p>
    </main>
  );
}
