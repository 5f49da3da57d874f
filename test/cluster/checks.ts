import type { Check } from "./check.ts";
import { drain, forceDelete, nodeLoss, restart, scaling, stores } from "./checks/disturbances.ts";
import { brokenFiles, rollback, uninstall, wrongSecret } from "./checks/faults.ts";
import { overHttp, overNats } from "./checks/from-a-pod.ts";
import { firstRun, install, widen } from "./checks/install.ts";
import { networkPolicies, volumes } from "./checks/isolation.ts";

/** In the order in which they run: each leaves the installation as the next one expects it. */
export const checks: readonly Check[] = [
  install,
  firstRun,
  overNats,
  widen,
  overHttp,
  volumes,
  networkPolicies,
  scaling,
  restart,
  forceDelete,
  brokenFiles,
  stores,
  drain,
  nodeLoss,
  wrongSecret,
  rollback,
  uninstall,
];
