"""Ask pip-audit whether an installed package has a known vulnerability; part of `make lint`.

Where the service cannot be reached, or does not know any of the packages, one line says so and nothing fails.
"""

import json
import subprocess
import sys
import sysconfig

LONGEST_S = 60
COMMAND = ["-m", "pip_audit", "--path", sysconfig.get_path("purelib"), "--progress-spinner=off", "--format=json"]


def main() -> str:
    """Return the exit status: a text that says what is vulnerable, or nothing."""
    try:
        found = subprocess.run(
            [sys.executable, *COMMAND], capture_output=True, text=True, timeout=LONGEST_S, check=False
        ).stdout
        packages = json.loads(found)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        print("pip-audit: left out, no answer (offline, or not installed)")
        return ""
    answered = [package for package in packages if "vulns" in package]
    print(f"pip-audit: {len(answered)} of {len(packages)} packages are known to the service")
    return "\n".join(
        f"{package['name']} {package['version']}: {vulnerability['id']}; fixed in {vulnerability['fix_versions']}"
        for package in answered
        for vulnerability in package["vulns"]
    )


if __name__ == "__main__":
    sys.exit(main() or None)
