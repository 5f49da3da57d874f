// Starts the fixture service the way `yard dev` does and does nothing else: the tests kill it.
// The child inherits stdout, so its log outlives this process.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { EXIT_WITH_PARENT } from "../src/exit-with-parent.ts";

const script = fileURLToPath(new URL("fixture-service.ts", import.meta.url));
spawn(process.execPath, [script, EXIT_WITH_PARENT], {
  stdio: ["pipe", "inherit", "inherit"],
});
