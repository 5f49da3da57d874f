// Preloaded into the CLI, so that a test finds what exists on POSIX systems alone. It takes away what Node.js documents as missing on Windows, and fails
// where a call would fail or do nothing there: https://nodejs.org/docs/latest-v24.x/api/process.html (getuid and its siblings, signals),
// https://nodejs.org/docs/latest-v24.x/api/fs.html#fschmodpath-mode-callback, https://nodejs.org/docs/latest-v24.x/api/net.html#ipc-support.
// Separators of paths and the console's code pages are not imitated.
const fs = require("node:fs");
const net = require("node:net");
const os = require("node:os");
const childProcess = require("node:child_process");
const { syncBuiltinESMExports } = require("node:module");

Object.defineProperty(process, "platform", { value: "win32" });
for (const name of ["getuid", "geteuid", "getgid", "getegid", "getgroups", "setuid", "setgid"])
  delete process[name];

const EMULATED = new Set([0, "SIGINT", "SIGTERM", "SIGKILL", "SIGQUIT"]);
const kill = process.kill.bind(process);
process.kill = (pid, signal = "SIGTERM") => {
  if (!EMULATED.has(signal)) throw Object.assign(new Error("kill ENOSYS"), { code: "ENOSYS" });
  if (pid < 0) throw Object.assign(new Error("kill EINVAL"), { code: "EINVAL" });
  return kill(pid, signal);
};

os.homedir = () => process.env.USERPROFILE;
os.userInfo = () => ({
  username: "somebody",
  uid: -1,
  gid: -1,
  shell: null,
  homedir: os.homedir(),
});

const withoutMode = (stats) => {
  if (stats) stats.mode = (stats.mode & ~0o777) | 0o666;
  return stats;
};
for (const name of ["statSync", "lstatSync", "fstatSync"]) {
  const original = fs[name];
  fs[name] = (...args) => withoutMode(original(...args));
}
for (const name of ["stat", "lstat"]) {
  const original = fs.promises[name];
  fs.promises[name] = async (...args) => withoutMode(await original(...args));
}
fs.promises.chmod = async () => {};
fs.chmodSync = () => {};
for (const target of [fs, fs.promises])
  for (const name of ["readFile", "open", "readFileSync", "openSync", "createReadStream"]) {
    const original = target[name];
    if (original === undefined) continue;
    target[name] = (path, ...more) => {
      if (/^\/(?:dev|proc|sys|etc)\//.test(String(path)))
        throw Object.assign(new Error(`ENOENT: no such file, open '${path}'`), { code: "ENOENT" });
      return original(path, ...more);
    };
  }

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (options, ...more) {
  const path = typeof options === "string" ? options : options?.path;
  if (path !== undefined) throw Object.assign(new Error("listen EACCES"), { code: "EACCES" });
  return listen.call(this, options, ...more);
};
const spawn = childProcess.spawn;
childProcess.spawn = (command, ...more) => {
  if (/^(?:\/bin\/)?(?:sh|bash)$/.test(command)) throw new Error(`spawn ${command} ENOENT`);
  return spawn(command, ...more);
};
syncBuiltinESMExports();
