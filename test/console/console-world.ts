import assert from "node:assert/strict";
import { after, type TestContext } from "node:test";
import { findChromium } from "./chromium.ts";
import { startConsole, type ConsoleOptions, type Look, type LookOptions } from "./start-console.ts";

const chromium = findChromium();
/** Reason why the tests in a browser do not run; false where they do. */
export const skip = chromium === null ? "Chromium is not installed" : false;

/** One Switchyard for a file of tests; faults of a page fail the test that has it open. */
async function startWorld(executable: string, how: ConsoleOptions) {
  const { stop, look, browser: _, ...rest } = await startConsole(executable, how);
  after(stop);
  const lookIn = async (t: TestContext, options: LookOptions = {}): Promise<Look> => {
    const looking = await look(options);
    t.after(async () => {
      await looking.context.close();
      assert.deepEqual(looking.faults, [], "the page has no errors and calls no other host");
    });
    return looking;
  };
  return { ...rest, look: lookIn };
}

export type ConsoleWorld = Awaited<ReturnType<typeof startWorld>>;

/** Starts the world of a file of tests, and returns the function that gives it to each of them. Without Chromium, or where all skip, there is none. */
export async function consoleWorld(options: ConsoleOptions = {}, skipped: string | false = skip) {
  const world = chromium === null || skipped !== false ? null : await startWorld(chromium, options);
  return (): ConsoleWorld => world ?? assert.fail("no Chromium");
}
