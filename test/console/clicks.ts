import type { Page } from "playwright-core";

/** Counts the clicks and taps of the person from now on; the page must not be loaded anew meanwhile. */
export async function countClicks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(
    "window.countClick ??= ({ isTrusted }) => void (window.clicks += isTrusted ? 1 : 0); window.clicks = 0; addEventListener('click', window.countClick, true)",
  );
  return () => page.evaluate<number>("window.clicks");
}
