import assert from "node:assert/strict";
import { after, type TestContext } from "node:test";
import { findChromium } from "./chromium.ts";
import { startConsole, type Look, type LookOptions } from "./start-console.ts";

const chromium = findChromium();
/** Why the tests in a browser do not run; false where they do. */
export const skip = chromium === null ? "Chromium is not installed" : false;

/** One Switchyard for a file of tests; faults of a page fail the test that looks at it. */
async function startWorld(executable: string) {
  const { stop, look, browser: _, ...rest } = await startConsole(executable);
  after(stop);
  const lookIn = async (t: TestContext, options: LookOptions = {}): Promise<Look> => {
    const looking = await look(options);
    t.after(async () => {
      await looking.context.close();
      assert.deepEqual(looking.faults, [], "the page has no errors and asks nobody else");
    });
    return looking;
  };
  return { ...rest, look: lookIn };
}

const world = chromium === null ? null : await startWorld(chromium);

/** The one that this file of tests started. */
export const there = (): NonNullable<typeof world> => world ?? assert.fail("no Chromium");
