import type { Check } from "./check.ts";
import { archive } from "./checks/archive.ts";
import { compact } from "./checks/compact.ts";
import { compose } from "./checks/compose.ts";
import { backup, replaceCertificate, replaceKey } from "./checks/day-two.ts";
import { drain, forceDelete, nodeLoss, resize, restart, stores } from "./checks/disturbances.ts";
import { brokenFiles, rollback, uninstall, wrongSecret } from "./checks/faults.ts";
import { overHttp, overMcp, overNats } from "./checks/from-a-pod.ts";
import { firstRun, install, widen } from "./checks/install.ts";
import { dashboards } from "./checks/dashboards.ts";
import { olderVersion } from "./checks/older-version.ts";
import { networkPolicies, volumes } from "./checks/isolation.ts";
import { sandbox } from "./checks/sandbox.ts";
import { scaleByLag } from "./checks/scale-by-lag.ts";
import { threeServers } from "./checks/three-servers.ts";

/** In the order in which they run: each leaves the installation as the next one expects it. */
export const checks: readonly Check[] = [
  install,
  firstRun,
  overNats,
  widen,
  overHttp,
  overMcp,
  volumes,
  networkPolicies,
  sandbox,
  resize,
  scaleByLag,
  restart,
  forceDelete,
  brokenFiles,
  stores,
  replaceKey,
  replaceCertificate,
  dashboards,
  archive,
  compact,
  drain,
  nodeLoss,
  wrongSecret,
  rollback,
  backup,
  uninstall,
  olderVersion,
  threeServers,
  compose,
];
