// The fixture as a separate process, for the tests of runService.

import { runService } from "../src/run-service.ts";
import { fixture } from "./fixture-definition.ts";

await runService(fixture);
