import { kubernetesTool } from "../../deploy/test/kubernetes-tools.ts";
import { renderChart } from "../../deploy/test/render-chart.ts";
import { format } from "./format.ts";

const parts = {
  base: { values: "base", hooks: false },
  keda: { sets: ["agentRunner.autoscaling.by=keda"], only: ["templates/autoscaling.yaml"] },
  hpa: { sets: ["agentRunner.autoscaling.by=hpa"], only: ["templates/autoscaling.yaml"] },
  "single-nodes": {
    sets: ["singleNats.enabled=true", "singleRedis.enabled=true"],
    only: [
      "charts/singleNats/templates/nats.yaml",
      "charts/singleRedis/templates/redis.yaml",
      "templates/single-nodes-policies.yaml",
    ],
  },
} as const;

/** Renders the part of the chart that a kustomize folder contains. Without helm the file stays as it is. */
export async function kustomizeFile(part: keyof typeof parts, current: string): Promise<string> {
  const helm = await kubernetesTool("helm");
  if (helm === null) {
    console.error(
      `there is no helm on this machine: the kustomize file of ${part} is not compared`,
    );
    return current;
  }
  const text = renderChart(helm, parts[part]).replaceAll(/^# Source: .*\n/gm, "");
  return format(
    "manifests.yaml",
    `# Rendered from deploy/helm/switchyard by "npm run generate".\n${text}`,
  );
}
