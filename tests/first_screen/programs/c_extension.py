# SPDX-License-Identifier: MIT
# function: derive_key
# kind: cpu
# words: derive_key, hashlib
"""Derives keys from passwords, which a C library makes slow on purpose."""
import hashlib


def derive_key(password):
    return hashlib.pbkdf2_hmac("sha256", password.encode(), b"salt", 120000)  # CAUSE


def main():
    print(len({derive_key(f"password {number}") for number in range(50)}))


if __name__ == "__main__":
    main()
