import { cp } from "node:fs/promises";
import { builtConsole } from "./build.ts";

/** For images: a build under a name that stays the same. */
const [target] = process.argv.slice(2);
if (target === undefined) throw new Error("usage: node apps/console/build-image.ts FOLDER");
await cp(await builtConsole(), target, { recursive: true });
