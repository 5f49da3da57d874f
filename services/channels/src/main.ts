import { runService } from "@switchyard/service/run-service";
import { channelsService } from "./service.ts";

await runService(channelsService);
