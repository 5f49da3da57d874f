import { constants, endianness } from "node:os";

/**
 * The system calls that a command never needs, as classic BPF for `bwrap --seccomp`: those that Docker's default profile refuses to a
 * container without capabilities, and those that Linux has added since. A bug in one of them is a way out of the sandbox, whatever its
 * namespaces and capabilities are. Null for a machine whose numbers are not listed here.
 */
export function seccompFilter(architecture: string = process.arch): Buffer | null {
  const machine = MACHINES[architecture];
  if (machine === undefined || endianness() !== "LE") return null;
  const { calls, audit, x32From } = machine;
  return assemble([
    load(ARCH),
    // The numbers below mean other calls elsewhere: 32-bit programs do not run.
    ...unlessEqual(audit, [answer(KILL_PROCESS)]),
    load(NUMBER),
    ...(x32From === null ? [] : ifAtLeast(x32From, [answer(refusedWith(errno.ENOSYS))])),
    ...DENIED.flatMap((name) => {
      const number = calls[name];
      return number === undefined ? [] : ifEqual(number, [answer(refusedWith(errno.EPERM))]);
    }),
    // Its flags are in memory, which a filter cannot read; glibc and others use `clone` then.
    ...ifEqual(calls.clone3, [answer(refusedWith(errno.ENOSYS))]),
    ...ifEqual(calls.clone, [
      load(FIRST_ARGUMENT),
      ...ifAnyBit(NEW_NAMESPACES, [answer(refusedWith(errno.EPERM))]),
      answer(ALLOW),
    ]),
    ...ifEqual(calls.socket, [
      load(FIRST_ARGUMENT),
      ...SOCKET_FAMILIES.flatMap((family) => ifEqual(family, [answer(ALLOW)])),
      answer(refusedWith(errno.EAFNOSUPPORT)),
    ]),
    answer(ALLOW),
  ]);
}

const { errno } = constants;

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. A vsock (AF_VSOCK) would reach the host of a virtual machine from any network namespace. */
const SOCKET_FAMILIES = [1, 2, 10, 16];
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x7e02_0000;

interface Machine {
  /** AUDIT_ARCH_* of linux/audit.h. */
  readonly audit: number;
  /** The first number that means a call of the x32 ABI. */
  readonly x32From: number | null;
  readonly calls: Readonly<Record<string, number>> &
    Readonly<Record<"clone" | "clone3" | "socket", number>>;
}

/** The same number everywhere since Linux 5.1. */
const SINCE_5_1 = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  clone3: 435,
  pidfd_getfd: 438,
  mount_setattr: 442,
  quotactl_fd: 443,
  memfd_secret: 447,
  set_mempolicy_home_node: 450,
  open_tree_attr: 467,
};

/** Numbers out of asm/unistd_64.h and asm-generic/unistd.h. */
const MACHINES: Readonly<Partial<Record<string, Machine>>> = {
  x64: {
    audit: 0xc000_003e,
    x32From: 0x4000_0000,
    calls: {
      ...SINCE_5_1,
      socket: 41,
      clone: 56,
      ptrace: 101,
      syslog: 103,
      uselib: 134,
      ustat: 136,
      sysfs: 139,
      vhangup: 153,
      pivot_root: 155,
      _sysctl: 156,
      chroot: 161,
      acct: 163,
      settimeofday: 164,
      mount: 165,
      umount2: 166,
      swapon: 167,
      swapoff: 168,
      reboot: 169,
      iopl: 172,
      ioperm: 173,
      create_module: 174,
      init_module: 175,
      delete_module: 176,
      get_kernel_syms: 177,
      query_module: 178,
      quotactl: 179,
      nfsservctl: 180,
      lookup_dcookie: 212,
      clock_settime: 227,
      mbind: 237,
      set_mempolicy: 238,
      kexec_load: 246,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      migrate_pages: 256,
      unshare: 272,
      move_pages: 279,
      perf_event_open: 298,
      fanotify_init: 300,
      open_by_handle_at: 304,
      clock_adjtime: 305,
      setns: 308,
      process_vm_readv: 310,
      process_vm_writev: 311,
      kcmp: 312,
      finit_module: 313,
      kexec_file_load: 320,
      bpf: 321,
      userfaultfd: 323,
    },
  },
  arm64: {
    audit: 0xc000_00b7,
    x32From: null,
    calls: {
      ...SINCE_5_1,
      lookup_dcookie: 18,
      umount2: 39,
      mount: 40,
      pivot_root: 41,
      nfsservctl: 42,
      chroot: 51,
      vhangup: 58,
      quotactl: 60,
      acct: 89,
      unshare: 97,
      kexec_load: 104,
      init_module: 105,
      delete_module: 106,
      clock_settime: 112,
      syslog: 116,
      ptrace: 117,
      reboot: 142,
      settimeofday: 170,
      socket: 198,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      clone: 220,
      swapon: 224,
      swapoff: 225,
      mbind: 235,
      set_mempolicy: 237,
      migrate_pages: 238,
      move_pages: 239,
      perf_event_open: 241,
      fanotify_init: 262,
      open_by_handle_at: 265,
      clock_adjtime: 266,
      setns: 268,
      process_vm_readv: 270,
      process_vm_writev: 271,
      kcmp: 272,
      finit_module: 273,
      bpf: 280,
      userfaultfd: 282,
      kexec_file_load: 294,
    },
  },
};

/** Judged by their arguments. */
const JUDGED = new Set(["clone", "clone3", "socket"]);
const DENIED = [
  ...new Set(Object.values(MACHINES).flatMap((machine) => Object.keys(machine?.calls ?? {}))),
].filter((name) => !JUDGED.has(name));

/** One instruction of classic BPF (linux/filter.h): code, jumps when true and when false, and a constant. */
type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, k: number];

/** Offsets in struct seccomp_data; of the first argument the lower half, where all flags are. */
const [NUMBER, ARCH, FIRST_ARGUMENT] = [0, 4, 16];
const [LOAD, RETURN, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT] = [0x20, 0x06, 0x15, 0x35, 0x45];
const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const REFUSE = 0x0005_0000;

function refusedWith(code: number): number {
  return REFUSE | code;
}

function load(offset: number): Instruction {
  return [LOAD, 0, 0, offset];
}

function answer(verdict: number): Instruction {
  return [RETURN, 0, 0, verdict];
}

function ifEqual(value: number, then: readonly Instruction[]): readonly Instruction[] {
  return [[JUMP_EQUAL, 0, then.length, value], ...then];
}

function unlessEqual(value: number, then: readonly Instruction[]): readonly Instruction[] {
  return [[JUMP_EQUAL, then.length, 0, value], ...then];
}

function ifAtLeast(value: number, then: readonly Instruction[]): readonly Instruction[] {
  return [[JUMP_AT_LEAST, 0, then.length, value], ...then];
}

function ifAnyBit(mask: number, then: readonly Instruction[]): readonly Instruction[] {
  return [[JUMP_ANY_BIT, 0, then.length, mask], ...then];
}

/** struct sock_filter, eight bytes each. */
function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, jumpTrue, jumpFalse, k]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(k, index * 8 + 4);
  }
  return bytes;
}
