import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { numberText } from "../../apps/console/src/core/format.ts";
import { consoleWorld, skip } from "./console-world.ts";

const there = await consoleWorld();

const MANY = 2_000;
const AT_ONCE = 32;

interface Totals {
  readonly statuses: Readonly<Record<string, number>>;
  readonly total: { readonly runs: number; readonly failed: number };
  readonly agents: readonly { readonly name: string; readonly runs: number; failed: number }[];
}

async function totals(): Promise<Totals> {
  const { dev, token } = there();
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${dev.httpUrl}/api/v1/runs/totals?range=24h`, { headers });
  assert.equal(response.status, 200);
  return (await response.json()) as Totals; // as openapi.json says
}

test(
  "the overview's figures are those of the API after two thousand runs under load",
  { skip, timeout: 400_000 },
  async (t) => {
    const { page, go } = await there().look(t);
    await go("/");
    const start = async (lane: number): Promise<void> => {
      for (let n = lane; n < MANY; n += AT_ONCE) {
        await there().send("/runs", {
          agent: n % 4 === 0 ? "peeker" : "reader",
          input: `load ${n}`,
          ...(n % 5 === 0 && { limits: { maxSteps: 1, onLimit: "fail" } }),
        });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, (_, lane) => start(lane)));
    const ended = await until(
      totals,
      ({ total, statuses }) => total.runs === MANY && statuses["running"] === 0,
      { timeoutMs: 300_000 },
    );
    assert.equal(ended.total.failed, MANY / 5);
    // The page is not loaded again: events keep its figures current.
    const failed = page.getByTestId("failed");
    await failed.getByText(numberText(ended.total.failed), { exact: true }).waitFor();
    await failed.getByText(`of ${numberText(MANY)} runs, last 24 hours`).waitFor();
    await page.getByTestId("running").getByText("0", { exact: true }).waitFor();
    for (const { name, runs, failed: bad } of ended.agents) {
      const text = `${name} ${numberText(runs)} ${numberText(bad)}`;
      await page
        .getByTestId("by-agent")
        .getByRole("row", { name: new RegExp(`^${name} ${numberText(runs)} `) })
        .waitFor()
        .catch(() => assert.fail(`the overview does not have ${text}`));
    }
  },
);
