import assert from "node:assert/strict";
import { constants } from "node:os";
import { test } from "node:test";
import { seccompFilter } from "./seccomp-filter.ts";

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const refused = (code: number): number => 0x0005_0000 | code;
const { EPERM, ENOSYS, EAFNOSUPPORT } = constants.errno;
const X64 = 0xc000_003e;
const ARM64 = 0xc000_00b7;

interface SystemCall {
  readonly architecture: string;
  readonly audit?: number;
  readonly number: number;
  readonly argument?: number;
}

/** The kernel's verdict: an interpreter of the few instructions that the filter has. */
function verdict({ architecture, audit, number, argument = 0 }: SystemCall): number {
  const program = seccompFilter(architecture);
  assert.ok(program !== null);
  const data = new Map([
    [0, number],
    [4, audit ?? (architecture === "x64" ? X64 : ARM64)],
    [16, argument],
  ]);
  let accumulator = 0;
  for (let at = 0; at < program.length; at += 8) {
    const code = program.readUInt16LE(at);
    const k = program.readUInt32LE(at + 4);
    const jump = (isTrue: boolean): void => {
      at += 8 * program.readUInt8(at + (isTrue ? 2 : 3));
    };
    if (code === 0x20) accumulator = data.get(k) ?? Number.NaN;
    else if (code === 0x15) jump(accumulator === k);
    else if (code === 0x35) jump(accumulator >= k);
    else if (code === 0x45) jump((accumulator & k) !== 0);
    else if (code === 0x06) return k;
    else assert.fail(`instruction ${code}`);
  }
  return assert.fail("the program does not end");
}

const X64_DENIED = { mount: 165, ptrace: 101, keyctl: 250, bpf: 321, unshare: 272, io_uring: 425 };
const ARM64_DENIED = { mount: 40, ptrace: 117, keyctl: 219, bpf: 280, unshare: 97, io_uring: 425 };

test("calls that a command has no business with are refused on both machines, others are not", () => {
  for (const [name, number] of Object.entries(X64_DENIED))
    assert.equal(verdict({ architecture: "x64", number }), refused(EPERM), name);
  for (const [name, number] of Object.entries(ARM64_DENIED))
    assert.equal(verdict({ architecture: "arm64", number }), refused(EPERM), name);
  for (const number of [0, 1, 9, 59, 202, 257, 318])
    assert.equal(verdict({ architecture: "x64", number }), ALLOW, String(number));
  for (const number of [56, 63, 64, 221, 222, 278])
    assert.equal(verdict({ architecture: "arm64", number }), ALLOW, String(number));
});

test("the numbers of another machine and of x32 are not taken for those of this one", () => {
  const write = { architecture: "x64", number: 1 };
  assert.equal(verdict({ ...write, audit: 0x4000_0003 }), KILL_PROCESS);
  assert.equal(verdict({ architecture: "arm64", audit: X64, number: 64 }), KILL_PROCESS);
  assert.equal(verdict({ ...write, number: 0x4000_0001 }), refused(ENOSYS));
});

test("new processes are allowed and new namespaces are not", () => {
  const [fork, thread] = [0x0120_0011, 0x003d_0f00];
  for (const [architecture, number] of [
    ["x64", 56],
    ["arm64", 220],
  ] as const) {
    for (const argument of [fork, thread])
      assert.equal(verdict({ architecture, number, argument }), ALLOW);
    for (const flag of [0x0002_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000])
      assert.equal(verdict({ architecture, number, argument: fork | flag }), refused(EPERM));
    assert.equal(verdict({ architecture, number: 435 }), refused(ENOSYS), "clone3");
  }
});

test("sockets are of the local machine and of IP, not to the host of a virtual machine", () => {
  for (const [architecture, number] of [
    ["x64", 41],
    ["arm64", 198],
  ] as const) {
    for (const argument of [1, 2, 10, 16])
      assert.equal(verdict({ architecture, number, argument }), ALLOW);
    for (const argument of [17, 38, 40])
      assert.equal(verdict({ architecture, number, argument }), refused(EAFNOSUPPORT));
  }
});

test("a machine whose numbers are not known has no filter", () => {
  assert.equal(seccompFilter("riscv64"), null);
});
