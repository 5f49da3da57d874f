import { render } from "preact";
import { App } from "./app.tsx";
import { startClock } from "./core/clock.ts";
import { startLive } from "./core/live.ts";
import { startPush } from "./core/push.ts";
import { startRouter } from "./core/router.ts";
import { ignoreHeldEnter } from "./core/shortcuts.ts";
import { openSession } from "./core/session.ts";
import { applyTheme } from "./core/theme.ts";
import { ask } from "./ui/dialog.tsx";

applyTheme();
startClock();
ignoreHeldEnter();
startRouter();
startLive();
startPush();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
// Such a link in the address bar of this page only changes its fragment.
addEventListener("hashchange", () => location.hash.includes("token=") && location.reload());
await openSession(isLinkWanted);

/** Confirms the use of the address's credential: it may be another person's. */
async function isLinkWanted(signedInAs: string): Promise<boolean> {
  const now =
    signedInAs === ""
      ? "The sender of the link sees what you do with it."
      : `You are signed in as ${signedInAs}. With it you would act as another user.`;
  const answer = await ask({
    title: "Sign in with the credential of this link?",
    text: `The link that you opened has a credential in it. ${now}`,
    action: "Sign in with it",
    isDangerous: true,
  });
  return answer !== null;
}
