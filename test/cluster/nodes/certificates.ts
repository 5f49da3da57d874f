import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../run-program.ts";

export const controlAddress = "10.200.0.1";

/** The certificates and kubeconfigs of a cluster that lives for one run, in `folder`; made by openssl and kubectl. */
export async function makeCertificates(
  folder: string,
  { kubectl, nodes }: { kubectl: string; nodes: readonly { name: string; address: string }[] },
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: readonly string[]): Promise<string> =>
    runProgram(["openssl", ...args], { cwd: folder });
  const ca = ["-subj", "/CN=switchyard-cluster", "-keyout", "ca.key", "-out", "ca.crt"];
  await openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...ca);
  await openssl("genrsa", "-out", "sa.key", "2048");
  await openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub");

  const certificate = async (name: string, subject: string, names: string): Promise<void> => {
    const request = ["-subj", subject, "-keyout", `${name}.key`, "-out", `${name}.csr`];
    await openssl("req", "-newkey", "rsa:2048", "-nodes", ...request);
    const uses = "extendedKeyUsage=serverAuth,clientAuth\n";
    await writeFile(at(`${name}.ext`), names === "" ? uses : `${uses}subjectAltName=${names}\n`);
    const signer = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
    const files = ["-in", `${name}.csr`, "-out", `${name}.crt`, "-extfile", `${name}.ext`];
    await openssl("x509", "-req", ...signer, ...files);
  };
  const config = async (file: string, user: string): Promise<void> => {
    const set = (...args: readonly string[]): Promise<string> =>
      runProgram([kubectl, "config", `--kubeconfig=${at(`${file}.conf`)}`, ...args]);
    const server = `--server=https://${controlAddress}:6443`;
    await set("set-cluster", "lab", server, `--certificate-authority=${at("ca.crt")}`);
    const key = [`--client-certificate=${at(`${user}.crt`)}`, `--client-key=${at(`${user}.key`)}`];
    await set("set-credentials", user, ...key);
    await set("set-context", "lab", "--cluster=lab", `--user=${user}`);
    await set("use-context", "lab");
  };

  const names = "DNS:kubernetes,DNS:kubernetes.default.svc,DNS:localhost";
  const addresses = `IP:127.0.0.1,IP:10.96.0.1,IP:${controlAddress}`;
  await certificate("apiserver", "/CN=kube-apiserver", `${names},${addresses}`);
  await certificate("apikubelet", "/O=system:masters/CN=apiserver-kubelet", "");
  await certificate("front", "/CN=front", "");
  const clients = {
    admin: "/O=system:masters/CN=admin",
    kcm: "/CN=system:kube-controller-manager",
    sched: "/CN=system:kube-scheduler",
    proxy: "/CN=system:kube-proxy",
    router: "/O=system:masters/CN=kube-router",
  };
  for (const [name, subject] of Object.entries(clients)) {
    await certificate(name, subject, "");
    await config(name, name);
  }
  for (const { name, address } of nodes) {
    const user = `kubelet-${name}`;
    await certificate(user, `/O=system:nodes/CN=system:node:${name}`, `DNS:${name},IP:${address}`);
    await config(user, user);
  }
}
