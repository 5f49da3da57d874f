#!/bin/bash
# The first process of a node: starts the programs of a Kubernetes node, and on the first node those of the control plane.
# usage: node.sh CACHE NAME ADDRESS POD_NETWORK [control]
CACHE=$1 NAME=$2 ADDRESS=$3 PODS=$4 ROLE=$5
RUN=$CACHE/run OWN=$CACHE/run/$NAME PKI=$CACHE/run/pki
export PATH=$CACHE/bin:$PATH
mkdir -p "$OWN/log" "$OWN/kubelet" "$OWN/containerd"

start() {
  local name=$1
  shift
  "$@" >"$OWN/log/$name.log" 2>&1 &
  echo "$name $!" >>/run/programs
}

hostname "$NAME"
ip link set lo up
# The main script moves the cable into this namespace; a bridge holds the address, so it stays when the cable is cut.
ip link add uplink type bridge
ip addr add "$ADDRESS/24" dev uplink
ip link set uplink up
until ip link show cable >/dev/null 2>&1; do sleep 0.1; done
ip link set cable master uplink
ip link set cable up
ip route add default dev uplink
sysctl -qw net.ipv4.ip_forward=1
sysctl -qw net.bridge.bridge-nf-call-iptables=1

# The kubelet writes six settings of the kernel, which belong to the whole machine: it finds the values that it wants in files.
setting() {
  mkdir -p /run/settings
  echo "$2" >"/run/settings/${1//\//.}"
  mount --bind "/run/settings/${1//\//.}" "/proc/sys/$1"
}
setting vm/overcommit_memory 1
setting vm/panic_on_oom 0
setting kernel/panic 10
setting kernel/panic_on_oops 1
setting kernel/keys/root_maxkeys 1000000
setting kernel/keys/root_maxbytes 25000000

mkdir -p /var/lib/kubelet /etc/cni/net.d /opt/cni
ln -sfn /usr/lib/cni /opt/cni/bin
mount --bind "$OWN/kubelet" /var/lib/kubelet
mount --make-shared /var/lib/kubelet
cat >/etc/cni/net.d/10-bridge.conflist <<X
{"cniVersion":"1.0.0","name":"pods","plugins":[
  {"type":"bridge","bridge":"pods0","isGateway":true,"hairpinMode":true,"ipMasq":false,
   "ipam":{"type":"host-local","ranges":[[{"subnet":"$PODS"}]],"routes":[{"dst":"0.0.0.0/0"}]}},
  {"type":"portmap","capabilities":{"portMappings":true}}]}
X

# Without CAP_SYS_RESOURCE no process may lower its score for the OOM killer.
cat >/run/containerd.toml <<X
version = 3
root = "$OWN/containerd"
state = "/run/containerd"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "switchyard-cluster/pause:1"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "/etc/cni/net.d"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = false
X
start containerd containerd -c /run/containerd.toml

if [ "$ROLE" = control ]; then
  start etcd etcd --data-dir "$OWN/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
    --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
  # Pods leave a node that is not ready after 20 s, by default after five minutes: a check would wait that long.
  start kube-apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --advertise-address="$ADDRESS" \
    --bind-address=0.0.0.0 --secure-port=6443 --service-cluster-ip-range=10.96.0.0/16 \
    --client-ca-file="$PKI/ca.crt" --tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction,DefaultTolerationSeconds \
    --default-not-ready-toleration-seconds=20 --default-unreachable-toleration-seconds=20 \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$PKI/sa.pub" \
    --service-account-signing-key-file="$PKI/sa.key" --kubelet-client-certificate="$PKI/apikubelet.crt" \
    --kubelet-client-key="$PKI/apikubelet.key" --kubelet-certificate-authority="$PKI/ca.crt" --allow-privileged=true \
    --kubelet-preferred-address-types=InternalIP --requestheader-client-ca-file="$PKI/ca.crt" \
    --requestheader-allowed-names=front --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --requestheader-group-headers=X-Remote-Group --requestheader-username-headers=X-Remote-User \
    --proxy-client-cert-file="$PKI/front.crt" --proxy-client-key-file="$PKI/front.key" --enable-aggregator-routing=true
  until kubectl --kubeconfig "$PKI/admin.conf" get --raw /readyz >/dev/null 2>&1; do sleep 0.5; done
  start kube-controller-manager kube-controller-manager --kubeconfig="$PKI/kcm.conf" --leader-elect=false \
    --service-account-private-key-file="$PKI/sa.key" --root-ca-file="$PKI/ca.crt" --use-service-account-credentials \
    --cluster-signing-cert-file="$PKI/ca.crt" --cluster-signing-key-file="$PKI/ca.key" --node-monitor-grace-period=20s
  start kube-scheduler kube-scheduler --kubeconfig="$PKI/sched.conf" --leader-elect=false
else
  until kubectl --kubeconfig "$PKI/admin.conf" get --raw /readyz >/dev/null 2>&1; do sleep 0.5; done
fi

# Two kubelets on one machine remove each other's control groups, unless each has a tree of its own.
for controller in /sys/fs/cgroup/*/; do mkdir -p "$controller/switchyard-cluster/$NAME" 2>/dev/null; done
for file in cpuset.cpus cpuset.mems; do
  for folder in switchyard-cluster "switchyard-cluster/$NAME"; do
    if [ -f "/sys/fs/cgroup/cpuset/$file" ]; then cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset/$folder/$file"; fi
  done
done
# All pods together would otherwise get the share of one other process of this machine.
echo 4096 >/sys/fs/cgroup/cpu/switchyard-cluster/cpu.shares
echo 'nameserver 127.0.0.1' >/run/resolv.conf
cat >/run/kubelet.yaml <<X
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
cgroupRoot: /switchyard-cluster/$NAME
failSwapOn: false
failCgroupV1: false
address: 0.0.0.0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $PKI/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $PKI/kubelet-$NAME.crt
tlsPrivateKeyFile: $PKI/kubelet-$NAME.key
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
resolvConf: /run/resolv.conf
imageMinimumGCAge: 9999h
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 4s
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
localStorageCapacityIsolation: false
X
cat >/run/proxy.yaml <<X
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clusterCIDR: 10.244.0.0/16
hostnameOverride: $NAME
clientConnection: {kubeconfig: $PKI/proxy.conf}
conntrack: {maxPerCore: 0}
X
start kubelet kubelet --config=/run/kubelet.yaml --kubeconfig="$PKI/kubelet-$NAME.conf" --hostname-override="$NAME" \
  --node-ip="$ADDRESS" --v=2
start kube-proxy kube-proxy --config=/run/proxy.yaml
if [ -x "$CACHE/bin/kube-router" ]; then
  until kubectl --kubeconfig "$PKI/admin.conf" get node "$NAME" >/dev/null 2>&1; do sleep 0.5; done
  start kube-router kube-router --kubeconfig="$PKI/router.conf" --master=https://10.200.0.1:6443 --hostname-override="$NAME" --run-router=false \
    --run-firewall=true --run-service-proxy=false --service-cluster-ip-range=10.96.0.0/16 --enable-ipv6=false --health-port=0
fi
touch /run/started
# Bash is the init process here: it reaps what the containers leave behind, until the main script ends the namespace.
while :; do wait -n || sleep 1; done
