import { render } from "preact";
import { App } from "./app.tsx";
import { startClock } from "./core/clock.ts";
import { startLive } from "./core/live.ts";
import { startRouter } from "./core/router.ts";
import { openSession } from "./core/session.ts";
import { applyTheme } from "./core/theme.ts";

applyTheme();
startClock();
startRouter();
startLive();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
await openSession();
