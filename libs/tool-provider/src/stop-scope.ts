import { failuresOf, type ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { Stop, StopScope } from "@switchyard/contracts/policy/policy-budgets";
import { runsAbove } from "@switchyard/contracts/agent-runner/run-context";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { keyIdOf } from "@switchyard/service/run-token";

/** The properties of a call that a stop can match. */
export interface StoppableCall {
  readonly principal: Principal;
  readonly ref: ToolRef;
  readonly token: string | undefined;
}

const fail = failuresOf(callTool.errors);

/** True when a stop is about a call. */
export function isAbout(scope: StopScope, { principal, ref, token }: StoppableCall): boolean {
  const { user, agent, runId, context } = principal;
  switch (scope.kind) {
    case "all":
      return true;
    case "agent":
      return agent === scope.name;
    case "run":
      return runId === scope.name || runsAbove(context ?? {}).includes(scope.name);
    case "server":
      return ref.server === scope.name;
    case "user":
      return user === scope.name;
    case "key":
      return token !== undefined && keyIdOf(token) === scope.name;
    default:
      return scope satisfies never;
  }
}

/** The error that a caller gets when a stop ends its call. */
export function stoppedBy({ scope, reason }: Stop): ServiceError {
  const what = scope.kind === "all" ? "all calls" : `calls of ${scope.kind} ${scope.name}`;
  return fail.stopped(
    `An administrator stopped ${what} while this one was in work: ${reason}. It may have had its effect.`,
    { scope },
  );
}
