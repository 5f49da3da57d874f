import { until } from "@switchyard/local-servers/until";
import type { Page } from "playwright-core";
import type { ConsoleWorld } from "./console-world.ts";

/** Waits until the opened call has been in sight long enough for a decision. */
export async function decidable(page: Page): Promise<void> {
  await page.locator('[data-testid="deny"]:enabled').waitFor();
}

/** Approves the opened call, whose risk is high, with a key, and confirms the prompt that names it. */
export async function approveByKey(page: Page): Promise<void> {
  await decidable(page);
  await page.keyboard.press("a");
  await confirmApproval(page);
}

export async function confirmApproval(page: Page): Promise<void> {
  await page
    .getByTestId("confirm")
    .getByRole("button", { name: /^Approve / })
    .click();
}

interface ListedApproval {
  readonly state: string;
  readonly principal: { readonly runId: string };
}

async function approvals(
  { dev, token }: ConsoleWorld,
  query: string,
): Promise<readonly ListedApproval[]> {
  const answer = await fetch(`${dev.httpUrl}/api/v1/approvals?limit=200&${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return ((await answer.json()) as { approvals: ListedApproval[] }).approvals; // as openapi.json says
}

/** The state of the first approval of each run. */
export async function statesOf(world: ConsoleWorld, runIds: readonly string[]): Promise<string[]> {
  const all = await approvals(world, "pendingOnly=false");
  return runIds.map(
    (id) => all.findLast(({ principal }) => principal.runId === id)?.state ?? "none",
  );
}

/** Cancels the runs whose calls wait. */
export async function noCallWaits(world: ConsoleWorld): Promise<void> {
  await until(async () => {
    const waiting = await approvals(world, "pendingOnly=true");
    for (const { principal } of waiting) await world.send(`/runs/${principal.runId}/cancel`, {});
    return waiting.length === 0;
  });
}
